"""Crashes that leave a whole or a cut transaction in the binary log, on real servers with small logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.crash.binary_log import ends_in_a_transaction
from redolab.crash.records.binary_log_end import BinaryLogEnd, EndKind
from redolab.errorlog import BINARY_LOG_PART
from redolab.errors import InvalidInput
from redolab.results.crashes import crashes_of
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.units import MIB
from tests.command import UNCHECKED, module_run, recoveries, run_of

pytestmark = pytest.mark.server

_WHOLE = 64 * MIB
_SMALL = (
    "binary-log", "--server", "mysql-9", "--log-size", "128M", "--dataset", "32M", "--pool", "128M", "--load", "3s",
    "--ends", "small:0,whole:64M", "--repeat", "1", *UNCHECKED,
)  # fmt: skip


run = module_run(*_SMALL)


def test_a_transaction_that_is_whole_in_the_binary_log_is_committed_by_the_recovery(run: Run) -> None:
    """The check of the tables counts its rows."""
    assert run.record().state is RunState.COMPLETE
    bytes_left = {str(crash.spec.binary_log_end): crash.binary_log_bytes or 0 for crash in crashes_of(run)}
    assert 0 < bytes_left["small:0B"] < MIB
    assert _WHOLE < bytes_left["whole:64M"] < 2 * _WHOLE


def test_the_binary_logs_recovery_is_a_part_of_the_time_to_ready(run: Run) -> None:
    for trial in recoveries(run):
        assert trial.timeline is not None
        (part,) = [part for part in trial.timeline.parts if part.part == BINARY_LOG_PART]
        assert 0 < part.seconds < (trial.ready_s or 0)


@pytest.mark.thorough
@pytest.mark.parametrize("server", ["mysql-9", "mariadb-10.11"])
def test_a_transaction_that_is_cut_off_there_is_rolled_back(server: str) -> None:
    with run_of(*_SMALL, "--server", server, "--ends", "cut:1000000") as made:
        assert made.record().state is RunState.COMPLETE


@pytest.mark.parametrize(
    "text", ["small:256M", "small:0B", "whole:1G", "whole:1000000000", "cut:1000000", "files:10000"]
)
def test_an_end_is_written_as_it_is_read(text: str) -> None:
    assert str(BinaryLogEnd.parse(text)) == text


@pytest.mark.parametrize("text", ["", "half:1G", "cut:many", "cut:0", "whole:0", "small:1G", "files:-1"])
def test_what_is_no_end_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        BinaryLogEnd.parse(text)


_TABLE_MAP, _ROWS, _XID = 19, 30, 16


@pytest.mark.parametrize(
    ("kinds", "missing", "is_cut"),
    [
        ((_TABLE_MAP, _ROWS, _XID), 0, False),
        ((_TABLE_MAP, _ROWS, _XID), 1, True),
        ((_TABLE_MAP, _ROWS, _XID), 45, True),
        ((_TABLE_MAP, _ROWS), 0, True),
        ((), 0, False),
    ],
)
def test_whether_a_file_ends_in_the_midst_of_a_transaction(
    tmp_path: Path, kinds: tuple[int, ...], missing: int, is_cut: bool
) -> None:
    body = b"x" * 21
    events = b"".join(
        bytes(4) + bytes([kind]) + bytes(4) + (19 + len(body)).to_bytes(4, "little") + bytes(6) + body for kind in kinds
    )
    path = tmp_path / "binlog.000001"
    content = b"\xfebin" + events
    path.write_bytes(content[: len(content) - missing])
    assert ends_in_a_transaction(path) is is_cut


def test_room_is_counted_for_what_the_binary_log_ends_with() -> None:
    whole = BinaryLogEnd(EndKind.WHOLE, _WHOLE)
    assert whole.room >= 2 * _WHOLE
    assert whole.rows * MIB >= _WHOLE
