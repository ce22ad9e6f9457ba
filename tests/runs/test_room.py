"""What a machine has no room for is refused, and says what would take it."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errors import DiskFull, InvalidInput
from redolab.machine import files
from redolab.runs.needs import Needs
from redolab.runs.room import check_room
from redolab.units import GIB


def test_what_another_server_has_is_not_the_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolab.runs.room.neighbours", lambda: ["mysqld"])
    monkeypatch.setattr("redolab.runs.room.free_memory", lambda: 4 * GIB)
    check_room(Needs(memory=2 * GIB, disk={tmp_path: 1}))
    with pytest.raises(InvalidInput) as refused:
        check_room(Needs(memory=3 * GIB + 1, memory_for="a pool"))
    assert "4G" in refused.value.problem
    with pytest.raises(DiskFull):
        check_room(Needs(disk={tmp_path: files.free_space(tmp_path) - GIB}))


def test_what_lies_on_one_file_system_adds_up(tmp_path: Path) -> None:
    half, copies = files.free_space(tmp_path) // 2 + GIB, tmp_path / "copies"
    check_room(Needs(disk={tmp_path: half}))
    with pytest.raises(DiskFull) as refused:
        check_room(Needs(disk={tmp_path: half, copies: half}, disk_for={tmp_path: "images", copies: "copies"}))
    assert all(word in refused.value.problem for word in ("images", "copies", str(tmp_path)))
