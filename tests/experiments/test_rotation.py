"""The experiment rotation: small rotations on real servers, and the log check on logs that were damaged on purpose."""

from __future__ import annotations

import csv
import errno
import os
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from experiments.rotation import rotating
from experiments.rotation.experiment import (
    Conditions,
    Phase,
    Rotating,
    Rotation,
    RotationTrial,
    Server,
    TableCounters,
)
from experiments.rotation.log_check import (
    LogCheck,
    LogContent,
    check_logs,
    count_numbers,
    longest_answer_ms,
    read_logs,
)
from experiments.rotation.rotating import LogRotation, Method
from redolab.crash.bench.started_server import StartedServer
from redolab.disks.attaching import DISKS
from redolab.disks.file_systems import MADE_BY, check_file_system
from redolab.errors import InvalidInput, WorkloadFailed
from redolab.lab import Lab
from redolab.machine import processes
from redolab.runs.estimate import Experience
from redolab.runs.execution import Execution
from redolab.runs.factors import read_factors
from redolab.runs.plan import draw_plan
from redolab.runs.schema import Finding, RunState
from redolab.runs.store import RunStore, new_session
from redolab.units import MIB
from redolab.workloads.numbered import Second, Sent, second_of
from redolab.workloads.windows import ReportedWindow, reported_window
from tests.command import nothing_is_left, run_of
from tests.examples import MACHINE
from tests.slowlog.servers import users_server

pytestmark = pytest.mark.server

_FIRST_LINES = (
    b"/usr/sbin/mysqld, Version: 9.7.4. started with:\nTcp port: 0  Unix socket: s\n"
    b"Time                 Id Command    Argument\n"
)
_STAMP = "# Time: 2026-01-01T00:00:00.000000Z\n"
_SECOND = 1_000_000_000
needs_root = pytest.mark.skipif(not processes.is_root(), reason="mounts need root")


def _statement(client: int, number: int) -> str:
    return f"SELECT /* redolab {number} of {client} */ c FROM numbered WHERE id={number % 7} /* {number} */"


def _record(client: int, number: int) -> bytes:
    return (
        f"{_STAMP}# User@Host: root[root] @ localhost []  Id:     8\n"
        "# Query_time: 0.000042  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
        f"SET timestamp=1767225600;\n{_statement(client, number)};\n"
    ).encode()


def _sent(*counts: int) -> list[Sent]:
    """Return clients that sent these numbers of statements: one a second, each answered after half a second."""
    return [
        Sent(_SECOND * np.arange(1, count + 1), _SECOND * np.arange(1, count + 1) + _SECOND // 2) for count in counts
    ]


def _logged(count: int, *but: int) -> LogContent:
    return LogContent({(0, number): 1 for number in range(1, count + 1) if number not in but}, 0)


@settings(deadline=None)
@example(fates=[2, 2], where=2260, begun=True)
@given(
    fates=st.lists(st.sampled_from([0, 1, 1, 1, 2]), min_size=2, max_size=20),
    where=st.integers(0, 1_000_000),
    begun=st.booleans(),
)
def test_what_is_lost_torn_and_twice_is_counted_wherever_a_log_is_cut(
    tmp_path_factory: pytest.TempPathFactory, fates: list[int], where: int, begun: bool
) -> None:
    """Log each statement as often as its fate says, then cut the log at any byte into two files."""
    folder = tmp_path_factory.mktemp("logs")
    logged = [number for number, times in enumerate(fates, start=1) for _ in range(times)]
    content = b"".join(_record(0, number) for number in logged)
    cut = where % (len(content) + 1)
    (folder / "old").write_bytes(b"grown before\n" + content[:cut])
    (folder / "new").write_bytes(_FIRST_LINES * begun + content[cut:])

    found = read_logs([(folder / "old", len("grown before\n")), (folder / "new", 0)])
    check = check_logs(_sent(len(fates)), found)

    whole = dict.fromkeys(range(1, len(fates) + 1), 0)
    begins, torn, at_edge = 0, False, False
    for number in logged:
        ends = begins + len(_record(0, number))
        # The stamp alone is no part of a statement, and neither is the newline behind it.
        is_cut = begins + len(_STAMP) < cut < ends - 1
        whole[number] += not is_cut
        torn |= is_cut
        # What is left of a stamp, or a line break behind a server's first lines, may count as a record without a statement.
        at_edge |= begins < cut <= begins + len(_STAMP) or cut == ends - 1
        begins = ends
    assert found.times == {(0, number): times for number, times in whole.items() if times}
    assert check.lost == sum(times == 0 for times in whole.values()) == check.sent - check.logged
    assert check.twice == sum(times == 2 for times in whole.values())
    assert check.torn in ((1, 2) if torn else (0, 1, 2) if at_edge else (0,))


def test_a_statement_that_is_there_in_part_is_torn_and_others_are_none() -> None:
    statements = [_statement(0, 1), _statement(1, 12)]
    parts = [
        statements[0][:-9],
        statements[1][:9],
        statements[1][20:],
        "SELECT /* redolab 1 of 0 */ c FROM numbered WHERE id=1 /* 12 */",
    ]
    others = ["administrator command: Quit", "SET NAMES utf8mb4"]
    assert count_numbers(pl.Series([*statements, *parts, *others])) == ({(0, 1): 1, (1, 12): 1}, len(parts))


def test_what_was_not_logged_on_purpose_is_not_lost() -> None:
    """Logging is paused from 10 s to 20 s. A statement is logged after its answer, so the one before may be missing too."""
    pause = (10 * _SECOND, 20 * _SECOND)
    held = check_logs(_sent(30), _logged(30, *range(9, 21)), pause)
    assert (held.lost, held.unlogged, held.logged) == (0, 12, 18)
    around = check_logs(_sent(30), _logged(30, 7, *range(10, 21), 21, 25), pause)
    assert (around.lost, around.unlogged, around.lost_s) == (3, 11, 18.0)


def test_what_went_with_a_removed_file_is_not_lost_but_what_came_after_is() -> None:
    check = check_logs(_sent(10, 10), LogContent({(0, 6): 1, (1, 7): 1, (1, 8): 1}, 1), removed_until=6 * _SECOND)
    assert (check.removed, check.logged, check.lost, check.torn) == (10, 3, 7, 1)
    held = check_logs(_sent(10), _logged(10, *range(1, 8)), (3 * _SECOND, 5 * _SECOND), 7 * _SECOND)
    assert (held.unlogged, held.removed, held.lost) == (4, 2, 1)


def test_a_number_that_nobody_sent_is_torn() -> None:
    assert check_logs(_sent(3), LogContent({(0, 1): 1, (0, 2): 1, (0, 3): 1, (0, 31): 1, (4, 1): 1}, 0)).torn == 2


def test_the_longest_answer_is_of_what_was_on_its_way() -> None:
    sent = [Sent(np.array([0, 5, 90]) * _SECOND, np.array([1, 60, 91]) * _SECOND)]
    assert longest_answer_ms(sent, 10 * _SECOND, 20 * _SECOND) == 55_000
    assert longest_answer_ms(sent, 61 * _SECOND, 89 * _SECOND) == 0


def test_a_window_is_of_its_own_seconds() -> None:
    seconds = [Second(number, 10.0 if number == 4 else 100.0, float(number)) for number in range(1, 9)]
    assert reported_window(seconds, 3, 3) == ReportedWindow(seconds=3, per_second=100.0, longest_ms=5.0, slow_seconds=1)
    with pytest.raises(WorkloadFailed):
        reported_window(seconds, 7, 3)


def test_a_report_of_a_second_is_read() -> None:
    line = "[ 12s ] thds: 8 tps: 2986.05 qps: 2986.05 (r/w/o: 2986.05/0.00/0.00) lat (ms,100%): 153.02 err/s: 0.00 reconn/s: 0.00"
    assert second_of(line) == Second(12, 2986.05, 153.02)
    assert second_of("[ 12s ] queue length: 0, concurrency: 1") is None


def _trial(longest: float = 5.0, **counts: int) -> RotationTrial:
    zero = dict.fromkeys(("lost", "unlogged", "removed", "twice", "torn"), 0)
    return RotationTrial(
        version="9.7.4",
        log_bytes=MIB,
        without=ReportedWindow(seconds=3, per_second=100, longest_ms=4.0, slow_seconds=0),
        during=ReportedWindow(seconds=3, per_second=100, longest_ms=longest, slow_seconds=0),
        parts=(Phase(name="rename", began_s=0, seconds=0.1, longest_ms=1),),
        rotation_s=0.1,
        check=LogCheck(sent=100, logged=100, lost_s=0.0, **{**zero, **counts}),
        before=TableCounters(open_tables=120),
        after=TableCounters(open_tables=20),
        idle_tables=100,
        late_share=None,
    )


def _findings(lab: Lab, method: Method, held: bool = False, **counts: int) -> Sequence[Finding]:
    group = Server(server="mysql-9", storage="local", file_system="xfs")
    step = Rotating(method=method, held=held, log_file=MIB)
    conditions = Conditions(clients=8, rate=100, seconds=3, warm_up=1, tables=10, check_disks=False)
    plan = draw_plan([[(group, [step])]], repeat=1, seed=1, conditions=conditions)
    return Rotation(lab, plan).findings(group, step, _trial(**counts))


def test_only_what_breaks_a_promise_is_a_finding(lab: Lab) -> None:
    assert not _findings(lab, Method.COPYTRUNCATE, lost=50, torn=1)
    assert not _findings(lab, Method.RM_FLUSH, removed=50)
    assert not _findings(lab, Method.RENAME_FLUSH, held=True, unlogged=50)
    assert len(_findings(lab, Method.RENAME_FLUSH, lost=2)) == 1
    assert len(_findings(lab, Method.RENAME_HUP, lost=1, torn=1, twice=1)) == 3


def test_a_trial_is_compared_with_the_window_before_it() -> None:
    trial = _trial(longest=13.0)
    assert trial.more_ms == 9.0
    assert trial.flushed_tables


def test_a_block_has_every_cell_once_and_its_instances_in_random_order(lab: Lab) -> None:
    asked = {
        "server": "mysql-9,mysql-5.7", "method": "rename-flush,rename-sync-flush,rename-usr1", "held": "off", "storage": "local",
        "file_system": "as-is", "repeat": "8", "seed": "1",
    }  # fmt: skip
    planned = Rotation.plan_from(read_factors(Rotation.factors_type, asked), lab)
    in_order = list(dict.fromkeys(step.group for step in planned.steps))
    servers = [planned.groups[group].server for group in in_order]
    assert [planned.blocks[group] for group in in_order] == [block for block in range(1, 9) for _ in range(2)]
    orders = {tuple(servers[first : first + 2]) for first in range(0, 16, 2)}
    assert orders == {("mysql-9", "mysql-5.7"), ("mysql-5.7", "mysql-9")}
    methods = [tuple(planned.steps[each].step.method for each in planned.positions(group)) for group in in_order]
    of_server = [dict(zip(servers, methods, strict=True))[server] for server in ("mysql-9", "mysql-5.7")]
    # MySQL 5.7 has no SIGUSR1.
    assert [sorted(each) for each in of_server] == [
        [Method.RENAME_FLUSH, Method.RENAME_SYNC_FLUSH, Method.RENAME_USR1],
        [Method.RENAME_FLUSH, Method.RENAME_SYNC_FLUSH],
    ]
    assert len(set(methods)) > 3


def test_a_modelled_disk_takes_room_for_its_check_too(lab: Lab) -> None:
    asked = {"server": "mysql-9", "method": "rm-flush", "held": "off", "file_system": "xfs", "log_file": "20M"}
    needed = []
    for storage in ("local", "gp3-3000"):
        planned = Rotation.plan_from(read_factors(Rotation.factors_type, {**asked, "storage": storage}), lab)
        needed.append(sum(Rotation(lab, planned).needs(range(len(planned.steps)), [0]).disk.values()))
    assert needed[1] > needed[0] > 2 * 20 * MIB


def test_a_copy_that_does_not_fit_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    """The last write of a copy may be a short one, as at a limit of a file's size."""
    log = tmp_path / "slow.log"
    log.write_bytes(b"x" * 10_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, before[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            LogRotation(cast("StartedServer", None), log).copy_and_truncate()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert log.stat().st_size == 10_000


@needs_root
def test_a_file_system_that_the_kernel_has_not_is_refused(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    check_file_system(lab, lab.folder / DISKS / "trial", "ext4")
    monkeypatch.setitem(MADE_BY, "minix", ("truncate", "--size=512M"))
    with pytest.raises(InvalidInput):
        check_file_system(lab, lab.folder / DISKS / "trial", "minix")
    assert not (lab.folder / DISKS / "trial").exists()


@needs_root
def test_copying_and_truncating_loses_what_renaming_keeps() -> None:
    place = ("--server", "mariadb-10.11", "--storage", "local", "--file-system", "ext4", "--check-disks", "off")
    load = ("--log-file", "20M", "--seconds", "3", "--warm-up", "1", "--rate", "1000", "--tables", "40")
    methods = ("--method", "copytruncate,rename-hup", "--held", "off", "--repeat", "1", "--seed", "1")
    with run_of("rotation", *place, *load, *methods) as run:
        assert run.record().state is RunState.COMPLETE
        rows = {row["method"]: row for row in csv.DictReader((run.folder / "table.csv").open())}
        copied, hung = rows["copytruncate"], rows["rename-hup"]
        assert int(copied["lost"]) > 0
        assert (hung["lost"], hung["torn"], hung["twice"], hung["unlogged"]) == ("0", "0", "0", "0")
        for row in rows.values():
            assert int(row["log_bytes"]) > 20 * MIB
            assert int(row["sent"]) > 4000
            assert int(row["sent"]) == int(row["logged"]) + int(row["lost"])
            assert float(row["longest_ms"]) > 0
        assert copied["flushed_tables"] == "false"
        assert "copy" in copied["phases"]
        assert "truncate" in copied["phases"]
        assert (run.folder / "plots/stalls.svg").stat().st_size > 5000


@pytest.mark.parametrize("method", [Method.RENAME_SYNC_FLUSH, Method.RENAME_USR1])
def test_the_command_itself_and_a_signal_open_a_new_log_and_flush_no_table(
    lab: Lab, tmp_path: Path, method: Method
) -> None:
    server = lab.server("mysql-9")
    with users_server(server, tmp_path / "server", {"slow_query_log": "1", "long_query_time": "0"}) as running:
        running.do("CREATE DATABASE d", "CREATE TABLE d.t (id INT)", "SELECT * FROM d.t", "SELECT 'before'")
        (log,) = (tmp_path / "server/data").glob("*slow.log")
        with running.instance.connections.connect() as connection:
            used = running.instance.used(connection)
            rotation = LogRotation(StartedServer(running.instance, connection, used, ""), log)
            rotation.rotate(method, held=False, notes=tmp_path / "state")
        # A statement is logged after its answer, before the connection's next one.
        running.do("SELECT 'after'", "DO 1")
        assert rotation.old is not None
        assert "SELECT 'before'" in rotation.old.read_text()
        assert "SELECT 'after'" not in rotation.old.read_text()
        assert "SELECT 'after'" in log.read_text()
        assert (tmp_path / "state").exists() is (method is Method.RENAME_SYNC_FLUSH)
        with running.instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW OPEN TABLES FROM d")
            assert cursor.fetchall()


@pytest.fixture
def waits_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause logging for half a second in all."""
    monkeypatch.setattr(rotating, "WAIT", 0.25)


@pytest.mark.usefixtures("waits_little")
@pytest.mark.thorough
def test_held_the_rest_is_logged_and_a_removed_file_takes_its_own(lab: Lab, tmp_path: Path) -> None:
    """The lab's folder takes no root. MySQL 9.7 opens no new log while logging is paused."""
    asked = {
        "server": "mysql-9", "method": "rm-flush", "held": "off", "storage": "local", "file_system": "as-is", "log_file": "20M",
        "seconds": "4", "warm_up": "1", "rate": "1000", "repeat": "1", "tables": "40", "check_disks": "off",
    }  # fmt: skip
    planned = Rotation.plan_from(read_factors(Rotation.factors_type, asked), lab)
    run = RunStore(tmp_path).create("rotation", {}, new_session(MACHINE, "", {}))
    # Asked for by its factor, it would want longer windows.
    (step,) = planned.steps
    held = msgspec.structs.replace(step, step=msgspec.structs.replace(step.step, held=True))
    planned = msgspec.structs.replace(planned, steps=(held,))
    run.write_plan(planned)
    bench = Rotation(lab, planned)
    bench.check([0])
    Execution(lab, RunStore(tmp_path), run, bench, planned, Experience()).execute()
    (trial,) = [each.trial for each in Rotation.results(run)]
    check = trial.check
    assert 200 < check.unlogged < 3000
    assert check.removed > 2000
    assert check.logged > 1000
    assert (check.lost, check.torn, check.twice) == (0, 0, 0)
    assert check.sent == check.logged + check.unlogged + check.removed
    assert [each.name for each in trial.parts] == [
        "holding",
        "waiting",
        "rm",
        "flush",
        "waiting after",
        "releasing",
        "flush again",
    ]
    assert trial.flushed_tables is False
    assert nothing_is_left()
