"""Where the redo of a crash begins and ends, by the files: made here block by block, so that the truth is known.

Those of real servers are in test_follow.py.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from redolab.watch.following.redo_files import RedoToRecover, redo_to_recover

BLOCK, HEADER, BLOCKS = 512, 2048, 64
"""Bytes, and blocks of a file."""
LAP = (1 << 30) * BLOCK
"""Bytes after which the numbers of blocks begin anew."""


def block(number: int, length: int = BLOCK) -> bytes:
    """The block that begins at an LSN of so many blocks."""
    return struct.pack(">IH", (number & (1 << 30) - 1) + 1, length).ljust(BLOCK, b"\0")


def header(checkpoint: int, start: int = 0) -> bytes:
    content = bytearray(HEADER)
    struct.pack_into(">IIQ", content, 0, 6, 0, start)
    # The older of two checkpoints, and the newer.
    struct.pack_into(">QQ", content, 512, 1, checkpoint - 1000 if checkpoint else 0)
    struct.pack_into(">QQ", content, 1536, 2, checkpoint)
    return bytes(content)


def circular(folder: Path, begin: int, end: int, checkpoint: int, files: int = 2) -> RedoToRecover | None:
    """A log of the older kind: written from the LSN `begin`, at the start of its first file, to `end`, round and round."""
    in_all = files * BLOCKS
    content = [b"\0" * BLOCK] * in_all
    first, last = begin // BLOCK, -(-end // BLOCK)
    for number in range(first, last):
        length = BLOCK if number < last - 1 else end - number * BLOCK
        content[(number - first) % in_all] = block(number, length)
    for number in range(files):
        of_file = b"".join(content[number * BLOCKS : (number + 1) * BLOCKS])
        (folder / f"ib_logfile{number}").write_bytes(header(checkpoint if number == 0 else 0) + of_file)
    return redo_to_recover(folder)


BEGIN = 7 * BLOCK * 1000


@pytest.mark.parametrize(
    "end",
    [
        BEGIN + 700,  # within its first blocks
        BEGIN + 70 * BLOCK + 100,  # in the second file
        BEGIN + 128 * BLOCK - 5,  # nearly full
        BEGIN + 128 * BLOCK + 90 * BLOCK + 33,  # in its second round
        BEGIN + 5 * 128 * BLOCK + 511,
    ],
)
def test_the_end_is_where_the_numbers_stop_to_follow(end: int, tmp_path: Path) -> None:
    checkpoint = max(BEGIN, end - 60 * BLOCK)
    found = circular(tmp_path, BEGIN, end, checkpoint)
    assert found == RedoToRecover(checkpoint, end, 128 * BLOCK)
    assert found.redo == end - checkpoint


def test_the_numbers_of_blocks_begin_anew(tmp_path: Path) -> None:
    """After 512 GiB: the checkpoint is before that, the end behind."""
    begin = 3 * LAP - 20 * BLOCK
    end = 3 * LAP + 30 * BLOCK + 17
    assert circular(tmp_path, begin, end, begin + BLOCK) == RedoToRecover(begin + BLOCK, end, 128 * BLOCK)


def test_mysql_8_0_30_has_a_file_for_each_stretch(tmp_path: Path) -> None:
    folder = tmp_path / "#innodb_redo"
    folder.mkdir()
    for number in range(3):
        start = BEGIN + number * BLOCKS * BLOCK
        written = BLOCKS if number < 2 else 10
        content = b"".join(
            block(start // BLOCK + each, BLOCK if each < 9 or number < 2 else 77) for each in range(written)
        )
        # What is behind is of another time, as these files are used again.
        old = b"".join(block(5 + each) for each in range(BLOCKS - written))
        (folder / f"#ib_redo{number + 8}").write_bytes(header(BEGIN + 600 if number == 0 else 0, start) + content + old)
    (folder / "#ib_redo11_tmp").write_bytes(header(0) + block(3) * BLOCKS)
    assert redo_to_recover(tmp_path) == RedoToRecover(
        BEGIN + 600, BEGIN + (2 * BLOCKS + 9) * BLOCK + 77, 3 * BLOCKS * BLOCK
    )


def test_mariadb_10_8_shows_its_checkpoint_alone(tmp_path: Path) -> None:
    content = bytearray(12288 + 4096)
    struct.pack_into(">I", content, 0, 0x50687973)
    struct.pack_into(">Q", content, 4096, 123_456)
    struct.pack_into(">Q", content, 8192, 234_567)
    (tmp_path / "ib_logfile0").write_bytes(content)
    assert redo_to_recover(tmp_path) == RedoToRecover(234_567, None, 4096)


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"\0" * 4096, b"\xff" * 65536])
def test_what_is_no_redo_log_says_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "ib_logfile0").write_bytes(content)
    assert redo_to_recover(tmp_path) is None
    assert redo_to_recover(tmp_path / "nothing") is None
