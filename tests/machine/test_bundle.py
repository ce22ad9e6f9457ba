"""A folder as bytes: it arrives as it was sent, and nothing of it outside of where it is unpacked."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from redolab.errors import LabError
from redolab.machine import bundle


def test_a_folder_arrives_as_it_was_sent_and_nothing_outside_of_it(tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    (sent / "logs").mkdir(parents=True)
    (sent / "run.json").write_bytes(b"{}")
    (sent / "logs/1.log").write_bytes(b"\0" * 1000)
    (sent / "logs/2.log").write_bytes(b"of an earlier attempt")
    content = bundle.pack(sent, ["logs/2.log"])
    bundle.unpack(content, tmp_path / "here")
    found = {str(path.relative_to(tmp_path / "here")) for path in (tmp_path / "here").rglob("*") if path.is_file()}
    assert found == {"run.json", "logs/1.log"}
    with pytest.raises(LabError):
        bundle.unpack(content[: len(content) // 2], tmp_path / "torn")


def test_what_would_lie_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../outside"), io.BytesIO())
    with pytest.raises(LabError):
        bundle.unpack(packed.getvalue(), tmp_path / "here")
    assert not (tmp_path / "outside").exists()
