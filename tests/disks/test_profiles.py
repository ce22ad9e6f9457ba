"""The storage profiles: what they ask of a disk, and what the user may add."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from redolab.disks.attaching import Storages, attached_folder, check_folder, check_possible
from redolab.disks.catalogue import storage_catalogue, storage_profile
from redolab.disks.figures import (
    FIGURES,
    DiskCheck,
    DiskTarget,
    FioLoad,
    MeasuredDisk,
    StorageRecord,
    figures_off,
)
from redolab.disks.profiles import FlashDisk, FolderStorage, ModelledDisk, SpinningDisk
from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.machine.clean_up_journal import Journal
from redolab.machine.facts import RequestQueue

OWN = """
[my-san]
kind = "flash"
about = "the SAN of the third floor"
read_us = 900
write_us = 400
flush_us = 0
read_mb_s = 400
depth = 16
[my-san.sources]
all = "measured by us"
"""


def load(latency_us: float = 1.0, per_second: float = 1.0, mb_s: float = 1.0) -> FioLoad:
    return FioLoad(latency_us=latency_us, p50_us=latency_us, p99_us=latency_us, per_second=per_second, mb_s=mb_s)


def test_a_folder_on_another_disk_than_before_is_not_gone_on_with(tmp_path: Path) -> None:
    """A disk may not have been mounted again after a reboot."""
    lab = cast("Lab", SimpleNamespace(folder=tmp_path))
    storages = Storages(lab, {"/": FolderStorage(about="", path="/")})
    lies_on = storages.lies_on("/")
    assert lies_on is not None
    record = StorageRecord(storage="/", about="", lies_on=lies_on)
    storages.check_same_disks([record])
    with pytest.raises(InvalidInput):
        storages.check_same_disks([msgspec.structs.replace(record, lies_on=msgspec.structs.replace(lies_on, size=1))])


def test_every_disk_of_the_catalogue_has_its_sources() -> None:
    for name, profile in storage_catalogue().items():
        assert profile.about, name
        if isinstance(profile, ModelledDisk):
            assert profile.sources, name
            assert all(re.search("http|assumed|as |the same", source) for source in profile.sources.values()), name


def test_what_is_asked_follows_from_the_figures() -> None:
    cloud, hdd, raid = (storage_profile(name) for name in ("gp3-3000", "hdd", "hdd-raid10"))
    assert isinstance(cloud, FlashDisk)
    assert isinstance(hdd, SpinningDisk)
    assert isinstance(raid, SpinningDisk)
    assert cloud.target() == DiskTarget(
        read_us=640, queued_reads_per_second=3000, write_us=590, sequential_mb_s=131.072, append_us=900
    )
    # 7.5 ms of seek, half of 8.33 ms, 16 KiB at 123.5 MB/s, 0.2 ms for the command.
    assert hdd.target().read_us == pytest.approx(7500 + 4166.7 + 132.7 + 200, abs=0.1)
    assert hdd.target().append_us == pytest.approx(8333.3, abs=0.1)
    assert hdd.target().queued_reads_per_second is None
    assert hdd.request_queue() == RequestQueue(scheduler="mq-deadline", rotational=True, depth=32)
    assert raid.target().sequential_mb_s == 4 * 163
    assert raid.target().read_us is None


def test_a_limit_on_bytes_or_on_depth_may_come_first() -> None:
    disk = FlashDisk(about="", sources={}, read_us=100, write_us=100, flush_us=0, read_mb_s=16.384, depth=4)
    assert disk.target().queued_reads_per_second == 1000
    quicker = msgspec.structs.replace(disk, read_mb_s=10_000)
    assert quicker.target().queued_reads_per_second == 40_000


def test_what_is_off_by_more_than_a_tenth_is_named() -> None:
    got = MeasuredDisk(
        read=load(109), queued_read=load(per_second=80), write=load(5), sequential=load(mb_s=500), append=load(7)
    )
    asked = DiskTarget(read_us=100, queued_reads_per_second=100, sequential_mb_s=500)
    check = DiskCheck(storage="x", got=got, asked=asked)
    assert [figure.column for figure in figures_off(check)] == ["queued_reads_per_s"]
    errors = {figure.column: error for figure in FIGURES if (error := figure.error(check)) is not None}
    assert errors == pytest.approx({"read_us": 0.09, "queued_reads_per_s": -0.2, "sequential_mb_s": 0.0})


def test_the_users_own_file_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "storage.local.toml"
    own.write_text(OWN)
    monkeypatch.setenv("REDOLAB_STORAGE", str(own))
    assert isinstance(storage_profile("my-san"), ModelledDisk)
    folder = storage_profile(str(tmp_path))
    assert isinstance(folder, FolderStorage)
    with attached_folder(folder, tmp_path / "lab", Journal(tmp_path / "journal")) as place:
        (place / "instances").mkdir()
        assert place.parent == tmp_path
    assert not place.exists()
    with attached_folder(folder, tmp_path / "lab", Journal(tmp_path / "journal")) as place:
        (place / "instances").mkdir()
        (place / "instances/kept").touch()
    assert (place / "instances/kept").exists()

    with pytest.raises(InvalidInput):
        check_folder(FolderStorage(path="storage/../../photos", about="a mistake"))


@pytest.mark.parametrize("line", ["deepness = 16", "depth = 0"])
def test_a_profile_that_is_no_disk_is_refused(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "storage.local.toml"
    own.write_text(OWN.replace("depth = 16", line))
    monkeypatch.setenv("REDOLAB_STORAGE", str(own))
    with pytest.raises(InvalidInput):
        storage_profile("my-san")


def test_what_this_host_cannot_offer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput):
        check_possible({"/nowhere/at/all": storage_profile("/nowhere/at/all")})
    monkeypatch.setattr("redolab.machine.processes.is_root", lambda: True)
    monkeypatch.setattr("redolab.disks.disk_model.FUSE", tmp_path / "no-such-device")
    with pytest.raises(InvalidInput):
        check_possible({"hdd": storage_profile("hdd")})
    monkeypatch.setattr("redolab.machine.processes.is_root", lambda: False)
    check_possible({"local": storage_profile("local"), str(tmp_path): storage_profile(str(tmp_path))})
    for name in ("hdd", "gp3-3000", "tmpfs"):
        with pytest.raises(InvalidInput):
            check_possible({name: storage_profile(name)})
