"""What makes a crash another one: what does something, and no prose."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest

from redolab.crash.wanted import made_with
from redolab.disks.catalogue import storage_profile
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.workloads import sysbench
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.source_code import code_alone

SETTINGS = [Setting("innodb_io_capacity", "200", "as in production")]


def test_a_reason_in_other_words_makes_no_other_crash() -> None:
    workload = workload_catalogue().get("bulk-update")
    reworded = [dataclasses.replace(each, reason="in other words") for each in SETTINGS]
    assert made_with(workload, SETTINGS) == made_with(workload, reworded)
    assert made_with(workload, SETTINGS) != made_with(workload, [dataclasses.replace(SETTINGS[0], value="201")])
    one, other = (
        InstanceRequest(purpose=Purpose.FILL, log_size=1, buffer_pool=1, overrides=tuple(each))
        for each in (SETTINGS, reworded)
    )
    assert one == other


def test_a_storage_described_in_other_words_makes_no_other_crash() -> None:
    workload, disk = workload_catalogue().get("bulk-update"), storage_profile("gp3-3000")
    reworded = msgspec.structs.replace(disk, about="in other words", sources={"read_us": "another page"})
    assert made_with(workload, SETTINGS, disk) == made_with(workload, SETTINGS, reworded)
    faster = msgspec.structs.replace(disk, read_us=1.0)
    assert made_with(workload, SETTINGS, disk) != made_with(workload, SETTINGS, faster)


def test_a_comment_in_other_words_makes_no_other_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = (sysbench.SCRIPTS / "bulk_update.lua").read_text()
    assert "--" in script
    (tmp_path / "bulk_update.lua").write_text(f"-- Said in other words.\n--[[ And\nmore. ]]\n\n{script}")
    before = workload_catalogue().get("bulk-update").content()
    monkeypatch.setattr(sysbench, "SCRIPTS", tmp_path)
    assert workload_catalogue().get("bulk-update").content() == before
    (tmp_path / "bulk_update.lua").write_text(f"local more = 1\n{script}")
    assert workload_catalogue().get("bulk-update").content() != before


def test_what_looks_like_a_comment_in_a_string_is_code(tmp_path: Path) -> None:
    for name, text in (("a.lua", 'x = "a -- b" -- c\n'), ("a.go", 'x := "a // b" // c\n')):
        (tmp_path / name).write_text(text)
        kept = code_alone(tmp_path / name)
        assert kept.endswith('b"'), kept
        assert "c" not in kept
