"""fio, on files where the lab wants them."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.disks.fio import Fio
from redolab.disks.place import Place
from redolab.lab import tools_of
from redolab.machine import files
from redolab.project import PROJECT
from redolab.units import MIB


@pytest.mark.parametrize("name", ["a:b", "a,b %c", "--x", "back\\slash", "$jobnum"])
def test_a_folder_is_measured_where_it_is_whatever_its_name(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    Fio(tools_of(PROJECT.lab).get("fio")).write_files(Place(name="mine", folder=folder), MIB)
    assert files.names(folder) == ["append", "random"]
    assert files.names(tmp_path) == [name]
