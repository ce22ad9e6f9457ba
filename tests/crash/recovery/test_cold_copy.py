"""Folders for instances on attached storages, and who is blamed for what fails there."""

from __future__ import annotations

import pytest

from redolab.crash.recovery.cold_copy import instance_folder
from redolab.disks import place
from redolab.disks.place import own_place
from redolab.errors import CommandFailed, DiskFull
from redolab.lab import Lab
from redolab.machine import files


@pytest.mark.parametrize(("full_below", "blamed"), [(1, CommandFailed), (1 << 60, DiskFull)])
def test_a_full_disk_is_blamed_for_a_program_that_fails_on_it(
    lab: Lab, full_below: int, blamed: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        with instance_folder(lab, own_place(lab.home), "of-a-test", "the folder of a test") as folder:
            files.make_folder(folder)
            raise CommandFailed("the program ended")

    monkeypatch.setattr(place, "FULL", full_below)
    with pytest.raises(blamed):
        fail()
    assert "of-a-test" not in files.names(lab.home / "instances")
