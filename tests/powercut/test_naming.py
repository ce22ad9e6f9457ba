"""Names of lost sectors: pages and log blocks of which it is known where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redolab.errors import CommandFailed
from redolab.powercut.naming import Extent, Names, extents_of
from redolab.powercut.recording import DATA, Event, recording_of
from redolab.powercut.states import SECTOR, History, Lost
from redolab.units import KIB

_PAGE = 16 * KIB
_SECTORS = _PAGE // SECTOR


def _page(number: int, lsn: int, kind: int) -> bytes:
    header = bytes(4) + number.to_bytes(4, "big") + bytes(8) + lsn.to_bytes(8, "big") + kind.to_bytes(2, "big")
    return header.ljust(_PAGE, b"x")


def _names(tmp_path: Path, writes: list[tuple[int, bytes]], extents: list[Extent]) -> Names:
    """Writes at sectors, with their bytes."""
    requests, place = [], 0
    for first, content in writes:
        requests.append((Event.WRITE, first * SECTOR, len(content), place))
        place += len(content)
    (tmp_path / DATA).write_bytes(b"".join(content for _, content in writes))
    order = [signed for number in range(1, len(writes) + 1) for signed in (number, -number)]
    return Names(History(recording_of(requests, order)), tmp_path, extents)


def test_a_page_is_named_by_its_table_its_kind_and_the_lsn_with_which_it_was_written(tmp_path: Path) -> None:
    table = Extent(1000, 10 * _SECTORS, "redolab/t1#p#p3.ibd", 0, _SECTORS)
    names = _names(tmp_path, [(1000 + 3 * _SECTORS, _page(3, 123456, 17855) + _page(4, 0, 2))], [table])
    assert names.of(Lost(0, 7, 1)) == ["page 3 of redolab.t1#p#p3 (index), written at LSN 123,456: sector 7 of 32"]
    assert names.of(Lost(0, 30, 4)) == [
        "page 3 of redolab.t1#p#p3 (index), written at LSN 123,456: sectors 30–31 of 32",
        "page 4 of redolab.t1#p#p3 (undo log): sectors 0–1 of 32",
    ]


def test_what_is_no_page_is_named_by_its_file(tmp_path: Path) -> None:
    start = (7_000_000).to_bytes(8, "big")
    header = bytes(8) + start + bytes(SECTOR - 16)
    redo = Extent(0, 64, "#innodb_redo/#ib_redo9", 0)
    binary = Extent(64, 8, "binlog.000002", 16)
    names = _names(
        tmp_path, [(0, header), (10, bytes(SECTOR)), (65, bytes(2 * SECTOR)), (500, bytes(SECTOR))], [redo, binary]
    )
    assert names.of(Lost(1, 0, 1)) == ["the redo log #innodb_redo/#ib_redo9, sector 10, from LSN 7,003,072"]
    assert names.of(Lost(2, 0, 2)) == ["the binary log binlog.000002, sectors 17–18"]
    assert names.of(Lost(3, 0, 1)) == [
        "no file that is there (the file system's own journal or metadata), sector 500 of the disk"
    ]


def test_the_doublewrite_buffer_in_the_system_tablespace_is_called_so(tmp_path: Path) -> None:
    system = Extent(0, 400 * _SECTORS, "ibdata1", 0, _SECTORS)
    names = _names(tmp_path, [(70 * _SECTORS, _page(5, 9, 17855))], [system])
    assert names.of(Lost(0, 0, 1)) == [
        "the doublewrite buffer, page 70 of ibdata1 (index), written at LSN 9: sector 0 of 32"
    ]


def test_extents_and_page_sizes_are_read_from_files(tmp_path: Path) -> None:
    def table(name: str, flags: int) -> None:
        content = bytes(54) + flags.to_bytes(4, "big")
        with (tmp_path / name).open("wb") as file:
            file.write(content.ljust(4 * _PAGE, b"y"))
            file.flush()
            os.fsync(file.fileno())

    table("plain.ibd", 0)
    table("compressed.ibd", 4 << 1)
    table("full_crc32.ibd", 0x10 | 5)
    (tmp_path / "other").write_bytes(b"z" * 4096)
    os.sync()
    try:
        found = extents_of(tmp_path)
    except CommandFailed as error:
        pytest.skip(f"no file of this file system can be looked up ({error.problem})")
    if not found:
        pytest.skip("this file system tells of no extents")
    pages = {each.file: each.page * SECTOR for each in found}
    assert pages == {"plain.ibd": 16 * KIB, "compressed.ibd": 8 * KIB, "full_crc32.ibd": 16 * KIB, "other": 0}
    assert sum(each.count for each in found if each.file == "plain.ibd") * SECTOR == 4 * _PAGE
