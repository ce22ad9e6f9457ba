"""Which machine it is: kept in the lab's folder, and not taken along to another."""

from __future__ import annotations

from pathlib import Path

import msgspec

from redolab.machine.identity import MACHINE_FILE, machine_identity
from tests.examples import MACHINE


def test_it_stays_and_two_equal_machines_have_two(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for lab in (here, there):
        lab.mkdir()
    first = machine_identity(here, MACHINE)
    assert machine_identity(here, msgspec.structs.replace(MACHINE, kernel="Linux 7")) == first
    assert machine_identity(there, MACHINE) != first


def test_a_folder_that_was_carried_elsewhere_does_not_bring_it_along(tmp_path: Path) -> None:
    first = machine_identity(tmp_path, MACHINE)
    elsewhere = msgspec.structs.replace(MACHINE, cpu="another CPU")
    second = machine_identity(tmp_path, elsewhere)
    assert second != first
    assert machine_identity(tmp_path, elsewhere) == second


def test_a_damaged_file_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / MACHINE_FILE).write_text("{")
    assert machine_identity(tmp_path, MACHINE) == machine_identity(tmp_path, MACHINE)
