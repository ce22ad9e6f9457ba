"""`predict` and `size`: their answers, what they warn of, and the one line for bad input."""

from __future__ import annotations

import io
import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
import scipy
from rich.console import Console

from redolab.errors import InvalidInput
from redolab.predict.advising import Sized, sized
from redolab.predict.asking import model_for, slowest_workload
from redolab.predict.calibration import CALIBRATION_FORMAT, read_calibration, with_spreads_of, write_calibration
from redolab.predict.crash import work_at, worst_age
from redolab.predict.demand import Demand, demand_of_files
from redolab.predict.log_size import Basis, Limits
from redolab.predict.predicting import Predicted, predicted
from redolab.predict.question import Question
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.predict import Until
from redolab.predict.recovery_time.rollback import RollbackRate
from redolab.predict.recovery_time.spread import Spread
from redolab.predict.recovery_time.spreads import Spreads
from redolab.predict.recovery_time.stuck import StuckCount, StuckCounts
from redolab.predict.recovery_time.work import Crash
from redolab.predict.size_in_words import show_sized
from redolab.predict.stuck import chance_for
from redolab.units import GIB, MIB, format_size
from tests.command import redolab
from tests.predict.examples import calibration, calibration_file
from tests.predict.recovery_time.examples import FAST

_GIVE = (
    "redolab: give --samples FILE, --redo-per-hour SIZE, a server to sample as in --socket PATH, or --prometheus URL\n"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return calibration_file(tmp_path_factory.mktemp("calibration"))


def question(file: Path, storage: str = "local", server: str = "mariadb-10.11", pool: int = 2 * GIB) -> Question:
    return Question(server=server, storage=f"{file}:{storage}", pool=pool)


def recovery(asked: Question, log_size: int = GIB, age: int | None = None) -> Predicted:
    return predicted(model_for(asked), log_size, age)


def size_for(asked: Question, redo_per_hour: float, rto: float) -> Sized:
    return sized(model_for(asked), Demand(redo_per_hour=redo_per_hour, source="as given"), Limits(rto=rto))


def shown(found: Sized) -> str:
    text = io.StringIO()
    show_sized(Console(file=text, width=120), found)
    return text.getvalue()


def changed(asked: Question, **others: object) -> Question:
    return Question(**{**{name: getattr(asked, name) for name in Question.__slots__}, **others})


def test_at_worst_the_age_is_that_at_which_statements_wait(file: Path) -> None:
    for server in ("mariadb-10.11", "mariadb-10.5", "mysql-9", "mysql-5.7"):
        found = model_for(question(file, server=server))
        capacity = found.dialect.capacity(found.dialect.layout(GIB))
        assert worst_age(found, GIB) == capacity.hard_limit == recovery(question(file, server=server)).redo


def test_a_prediction_has_parts_intervals_and_what_it_rests_on(file: Path) -> None:
    asked = changed(question(file), undo_rows=600_000)
    found = recovery(asked, 8 * GIB)
    assert sum(found.parts_s.values()) == pytest.approx(found.ready_s)
    assert found.rollback_s == pytest.approx(2.0)
    assert (
        "72 recoveries of 6 crashes of mariadb-10.11 (10.11.19) under bulk-update, logs of 256M to 1G" in found.evidence
    )
    assert found.warnings == (
        "8G is 8 times the largest log measured, 1G",
        "pools of 64M to 768M were measured, not 2G",
    )
    within = recovery(question(file, pool=768 * MIB))
    # Two of the six crashes are of that size.
    assert within.warnings == ("few crashes with logs of more than 512M were measured",)
    assert recovery(question(file, pool=384 * MIB), 512 * MIB).warnings == ()
    assert found.ninety.high_s / found.ready_s >= within.ninety.high_s / within.ready_s


def test_what_tables_add_is_of_the_disk_that_they_lie_on(tmp_path: Path) -> None:
    known = calibration()
    local, other, *_ = known.storages
    counted = msgspec.structs.replace(known.servers["mysql-9"], seconds_per_table_on={local: 0.0002})
    path = tmp_path / "calibration.json"
    write_calibration(path, msgspec.structs.replace(known, servers={**known.servers, "mysql-9": counted}))
    without = recovery(question(path, local, "mysql-9"))
    found = recovery(changed(question(path, local, "mysql-9"), tables=20_000))
    assert found.ready_s == pytest.approx(without.ready_s + 4.0)
    at_most = 4.0 * math.exp(float(scipy.stats.t.ppf(0.95, 8)) * 0.3)
    assert found.ninety.high_s == pytest.approx(without.ninety.high_s + at_most)
    assert not any("a table" in warning for warning in found.warnings)
    unknown = recovery(changed(question(path, other, "mysql-9"), tables=20_000))
    assert unknown.ready_s == pytest.approx(recovery(question(path, other, "mysql-9")).ready_s)
    (said,) = [warning for warning in unknown.warnings if "a table" in warning]
    assert f"on {other} was not measured: its time is left out; on {local} 20,000 add 4.00 s" in said


def test_a_rollback_is_of_the_storage_and_as_unsure_as_rollbacks_are(tmp_path: Path) -> None:
    known = calibration()
    local, slow, *_ = known.storages
    rates = {
        "mysql-9": {local: RollbackRate(rows_per_s=300_000, most_rows=100_000)},
        "mariadb-10.11": {slow: RollbackRate(rows_per_s=5_000, most_rows=100_000)},
    }
    servers = {name: msgspec.structs.replace(server, rollback_on=rates[name]) for name, server in known.servers.items()}
    relative = msgspec.structs.replace(servers["mysql-9"], rollback_on={slow: rates["mariadb-10.11"][slow]})
    path = tmp_path / "calibration.json"
    write_calibration(path, msgspec.structs.replace(known, servers={**servers, "mysql-8.0": relative}))
    asked = changed(question(path, local, "mysql-9"), undo_rows=90_000)
    found = recovery(asked)
    assert found.rollback_s == pytest.approx(0.3)
    assert not any("rollback" in warning for warning in found.warnings)
    beyond = recovery(changed(asked, undo_rows=6_000_000))
    assert beyond.rolled_back_ninety is not None
    assert any("6,000,000 rows is beyond those measured there, up to 100,000" in said for said in beyond.warnings)
    # 20 s of rollback, of 30 crashes that differ by 0.2 in the logarithm, on top of what recovery takes at most.
    at_most = 20.0 * math.exp(float(scipy.stats.t.ppf(0.95, 30)) * 0.2)
    assert beyond.rolled_back_ninety.high_s == pytest.approx(beyond.ninety.high_s + at_most)
    by_relative = recovery(changed(question(path, slow, "mysql-9"), undo_rows=90_000))
    assert by_relative.rollback_s == pytest.approx(18.0)
    assert any("taken is the slowest of its family" in said for said in by_relative.warnings)
    nobody = changed(question(path, local, "mariadb-10.11"), undo_rows=90_000)
    assert any("its time is left out" in said for said in recovery(nobody).warnings)
    with pytest.raises(InvalidInput, match=f"no large rollback of mariadb-10.11 on {local} was measured"):
        model_for(changed(nobody, until=Until.ROLLED_BACK))


def test_the_end_of_rollback_is_a_time_of_its_own(file: Path) -> None:
    asked = changed(question(file), undo_rows=600_000)
    found = recovery(asked, GIB)
    assert found.rolled_back_s is not None
    assert found.rolled_back_s == pytest.approx(found.ready_s + 2.0)
    assert found.rolled_back_ninety is not None
    assert found.rolled_back_ninety.low_s < found.rolled_back_s < found.rolled_back_ninety.high_s
    asked = changed(question(file), undo_rows=3_000_000)
    until_ready = size_for(asked, 0.1 * GIB, 30)
    until_rolled_back = size_for(changed(asked, until=Until.ROLLED_BACK), 0.1 * GIB, 30)
    assert (until_ready.advice.largest_within_rto or 0) > (until_rolled_back.advice.largest_within_rto or 0)
    later = zip(until_ready.table, until_rolled_back.table, strict=True)
    assert all(after.recovery_s == pytest.approx(before.recovery_s + 10.0) for before, after in later)
    assert "rolled back" in shown(until_rolled_back)
    with pytest.raises(InvalidInput, match="depends on its rows"):
        model_for(changed(question(file), until=Until.ROLLED_BACK))


def test_a_version_that_was_not_measured_is_named_and_less_sure(file: Path) -> None:
    found, of_known = recovery(question(file, server="percona-8.0.36")), recovery(question(file, server="mysql-9"))
    assert found.measured_as == "mysql-9"
    assert "percona-8.0.36 was not measured: the rates are those of mysql-9 (9.7.4)" in found.warnings
    assert found.ninety.high_s >= of_known.ninety.high_s
    assert "measured was 9.7.4, not 9.7.9" in recovery(question(file, server="mysql-9.7.9")).warnings


def test_a_version_with_another_recovery_code_is_another_server(file: Path) -> None:
    """MariaDB 10.11.3 has recovery rewritten (MDEV-29911): what 10.11.19 takes says less of 10.11.2."""
    same, older = (model_for(question(file, server=f"mariadb-10.11.{patch}")) for patch in (5, 2))
    assert same.extrapolations == ()
    assert not any("was not measured" in each for each in same.warnings)
    assert older.extrapolations == (HeldOut.SERVER,)
    assert any("mariadb-10.11.2 was not measured" in each for each in older.warnings)


@pytest.mark.parametrize(
    ("server", "gets_stuck"),
    [
        ("mysql-8.0.30", False),
        ("percona-8.0.36", False),
        ("mysql-8.4.3", False),
        ("mysql-9.2.0", True),
        ("mysql-9", True),
        ("percona-9.7.1", True),
    ],
)
def test_a_version_with_the_wait_for_pending_reads_does_not_get_stuck(
    file: Path, server: str, gets_stuck: bool
) -> None:
    """8.0.30 to 8.4 write redo as 9.7 does and borrow its rates, but not its fault."""
    found = recovery(question(file, server=server, pool=512 * MIB))
    assert found.measured_as == "mysql-9"
    assert (found.chance_of_stuck is not None) == any("get stuck" in each for each in found.warnings) == gets_stuck
    sizes = size_for(question(file, server=server, pool=512 * MIB), 3.1 * GIB, 36_000)
    assert (max(row.stuck for row in sizes.table) > 0) == gets_stuck
    assert (sizes.size == sizes.advice.smallest_for_hour) != gets_stuck
    assert (HeldOut.SERVER in model_for(question(file, server=server)).extrapolations) == (
        server not in {"mysql-9", "percona-9.7.1"}
    )


def test_a_calibration_of_a_version_with_the_wait_tells_nothing_of_one_without(tmp_path: Path) -> None:
    known = calibration()
    older = msgspec.structs.replace(
        known.servers["mysql-9"],
        version="8.0.15",
        in_several_batches=StuckCounts({"bulk-update": StuckCount(0, 300, 100, 0.0)}),
    )
    path = tmp_path / "calibration.json"
    write_calibration(path, msgspec.structs.replace(known, servers={"mysql-8.0": older}))
    found = recovery(question(path, server="mysql-9", pool=512 * MIB))
    assert (found.measured_as, found.chance_of_stuck) == ("mysql-8.0", None)
    assert any("may get stuck" in each and "how often was not measured" in each for each in found.warnings)


def test_the_read_threads_of_the_server_decide(tmp_path: Path) -> None:
    file, known = tmp_path / "calibration.json", calibration()
    counts = StuckCounts({"bulk-update": StuckCount(30, 100, 100, 30.0)}, {16: StuckCount(0, 30, 30, 0.0)})
    server = msgspec.structs.replace(known.servers["mysql-9"], in_several_batches=counts)
    write_calibration(file, msgspec.structs.replace(known, servers={"mysql-9": server}))
    asked = question(file, server="mysql-9", pool=512 * MIB)
    found = {threads: recovery(changed(asked, read_threads=threads)) for threads in (None, 4, 15, 16, 64)}
    chances = {threads: each.chance_of_stuck.mean for threads, each in found.items() if each.chance_of_stuck}
    assert chances[None] == chances[4] == chances[15] == pytest.approx(30.5 / 101)
    assert chances[16] == chances[64] == pytest.approx(30.5 / 101 * 0.5 / 31)
    assumed = [threads for threads, each in found.items() if any("is assumed" in one for one in each.warnings)]
    assert assumed == [None]
    few, many = (size_for(changed(asked, read_threads=threads), 3.1 * GIB, 36_000) for threads in (4, 16))
    assert many.size == many.advice.smallest_for_hour != few.size
    assert any(change.startswith("read threads: ") for change in few.what_could_change)


def test_an_old_calibration_says_so(tmp_path: Path) -> None:
    old = calibration_file(tmp_path, datetime.now(UTC) - timedelta(days=800))
    assert any("servers, kernel and disk may be others by now" in each for each in recovery(question(old)).warnings)


def test_the_size_holds_an_hour_recovers_in_time_and_has_lines_to_paste(file: Path) -> None:
    found = size_for(question(file), 3.1 * GIB, 300)
    assert found.size == found.advice.smallest_for_hour == 4 * GIB
    assert found.expected is not None
    assert found.expected.ninety.high_s <= 300
    lines = {each.where.partition(":")[0]: each.lines for each in found.lines}
    assert lines["my.cnf"] == ("[mysqld]", f"innodb_log_file_size = {4 * GIB}")
    assert f"SET GLOBAL innodb_log_file_size = {4 * GIB};" in lines["changing it"]
    assert {"Kubernetes", "failover"} < set(lines)
    text = shown(found)
    assert "Set the redo log to 4G. After a crash with the log full, the worst, recovery then typically takes " in text
    assert "Why: it is the smallest that holds an hour of peak redo (3.10G; as given), and" in text
    assert "<- set this" in text


@pytest.mark.parametrize(
    ("server", "redo_per_hour", "rto", "lines", "shipped"),
    [
        (
            "mariadb-10.11",
            300 * MIB,
            600,
            (),
            "TimeoutStartSec=900, and the server has it extended while InnoDB recovers",
        ),
        ("mysql-9", 300 * MIB, 600, (), "have no start timeout (TimeoutSec=0"),
        ("mysql-9", 40 * GIB, 36_000, ("[Service]", "TimeoutStartSec=infinity"), "have no start timeout (TimeoutSec=0"),
        ("mariadb-10.2.11", 5 * GIB, 3600, ("[Service]", "TimeoutStartSec=infinity"), "systemd's default holds, 90 s"),
    ],
)
def test_no_line_to_paste_lowers_a_start_timeout(
    file: Path, server: str, redo_per_hour: float, rto: float, lines: tuple[str, ...], shipped: str
) -> None:
    # All redo fits into the pool at once: of a server that gets stuck in more batches no larger log would be advised.
    found = size_for(question(file, server=server, pool=256 * GIB), redo_per_hour, rto)
    systemd = next(each for each in found.lines if each.where.startswith("systemd"))
    assert tuple(line for line in systemd.lines if not line.startswith("#")) == lines
    assert shipped in systemd.why
    assert found.expected is not None
    needed = 10 * math.ceil(found.expected.ninety.high_s / 5)
    assert (
        f"only if 'systemctl show -p TimeoutStartUSec {'mysqld' if 'mysql' in server else 'mariadb'}' says less than {needed} s"
        in systemd.where
    ) == bool(lines)
    assert "leave TimeoutStartSec as it is" in systemd.where or lines


@pytest.mark.parametrize(("server", "program"), [("mariadb-10.11", "mariadb-admin"), ("mysql-9", "mysqladmin")])
def test_the_probes_of_a_pod_wait_for_a_recovery(file: Path, server: str, program: str) -> None:
    found = size_for(question(file, server=server, pool=256 * GIB), 2.7 * GIB, 300)
    pasted = next(each for each in found.lines if each.where.startswith("Kubernetes"))
    assert "only if the container has a livenessProbe" in pasted.where
    assert found.expected is not None
    upper = found.expected.ninety.high_s
    spec = msgspec.yaml.decode("\n".join(pasted.lines))["spec"]
    assert spec["terminationGracePeriodSeconds"] >= max(30, upper)
    (container,) = spec["containers"]
    startup, liveness = container["startupProbe"], container["livenessProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 2 * upper
    assert startup["exec"]["command"] == liveness["exec"]["command"] == [program, "ping"]
    # The liveness probe begins when the startup probe has succeeded: it need not wait by itself.
    assert "initialDelaySeconds" not in liveness
    assert liveness["periodSeconds"] * liveness["failureThreshold"] <= 60
    # Both would delay it as well.
    assert {"initialDelaySeconds", "failureThreshold"} <= set(pasted.why.split())


@pytest.mark.parametrize(
    ("server", "line"),
    [
        (
            "mysql-5.5",
            "-- move ib_logfile0 and ib_logfile1 out of the data directory; delete them once the server is up",
        ),
        ("mysql-8.0", "-- start the server: it makes the log anew"),
        ("mysql-9", "SET PERSIST innodb_redo_log_capacity = {size};"),
        ("mariadb-10.5", "-- start the server: it makes the log anew"),
        ("mariadb-10.9.2", "SET GLOBAL innodb_log_file_size = {size};"),
    ],
)
def test_how_the_size_is_changed_depends_on_the_version(file: Path, server: str, line: str) -> None:
    found = size_for(question(file, server=server), 300 * MIB, 600)
    changing = next(each for each in found.lines if each.where == "changing it")
    assert line.format(size=found.size) in changing.lines


def test_where_an_hour_takes_too_long_the_largest_in_time_is_set_and_what_would_change_that(file: Path) -> None:
    found = size_for(question(file, "gp3-3000", "mariadb-10.11", 512 * MIB), 7.15 * GIB, 60)
    assert found.basis is Basis.TIME
    assert found.size == found.advice.largest_within_rto
    assert found.expected is not None
    assert found.expected.chance < 0.05 < (found.rule.chance if found.rule else 0)
    kinds = [change.partition(":")[0] for change in found.what_could_change]
    assert kinds[:2] == ["recovery time", "buffer pool"]
    assert any("on local" in change for change in found.what_could_change[2:])
    text = shown(found)
    assert "Why: it is the largest that recovers in time; it holds" in text
    assert f"asks for {format_size(found.advice.smallest_for_hour or 0)}: " in text


def test_no_size_recovers_in_time(file: Path) -> None:
    found = size_for(question(file, "gp3-3000", pool=512 * MIB), 7.15 * GIB, 0.01)
    assert (found.size, found.lines, found.basis) == (None, (), None)
    assert "No size recovers in time: even with 64M nearly all of recoveries take longer than 0.01 s" in shown(found)


def test_a_server_that_gets_stuck_is_given_no_log_that_takes_several_batches(file: Path) -> None:
    asked = question(file, server="mysql-9", pool=512 * MIB)
    found = size_for(asked, 3.1 * GIB, 36_000)
    model = model_for(asked)
    chance = chance_for(model)
    assert chance is not None
    assert chance.mean > 0.05
    assert found.size is not None
    assert found.basis is Basis.TIME
    assert work_at(model, worst_age(model, found.size)).batches == 1
    surely = sized(model, Demand(redo_per_hour=3.1 * GIB, source="as given"), Limits(rto=36_000, chance=0.5))
    assert surely.basis is Basis.HOUR
    assert any("get stuck" in each for each in surely.warnings)


def test_a_workload_that_is_the_slowest_at_one_amount_is_not_taken_for_the_slowest() -> None:
    server = calibration().servers["mysql-9"]
    bulk = server.workloads["bulk-update"]
    with_more_to_open = msgspec.structs.replace(bulk, rates={**bulk.rates, "start": bulk.rates["start"] + 10})
    with_slower_redo = msgspec.structs.replace(bulk, rates={**bulk.rates, "redo": 2 * bulk.rates["redo"] + 2})
    both = {"opens long": with_more_to_open, "slow redo": with_slower_redo}
    ready = {
        name: [each.ready(Crash(redo=redo, dirty_pages=0), redo, FAST) for redo in (GIB, 16 * GIB)]
        for name, each in both.items()
    }
    assert ready["opens long"][0] > ready["slow redo"][0]
    assert ready["opens long"][1] < ready["slow redo"][1]
    assert slowest_workload(msgspec.structs.replace(server, workloads=both)) == "slow redo"


def test_the_chances_that_may_be_are_asked_for(file: Path) -> None:
    model, demand = model_for(question(file)), Demand(redo_per_hour=7 * GIB, source="as given")
    sizes = [sized(model, demand, Limits(rto=100, chance=chance)).size or 0 for chance in (0.01, 0.05, 0.4)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    told = redolab(
        *("size", "--server", "mariadb-10.11", "--pool", "2G", "--storage", f"{file}:local", "--redo-per-hour", "7G"),
        *("--rto", "100s", "--chance", "40%", "--crash", "worst", "--json"),
    )
    answer = json.loads(told.stdout)
    assert (answer["limits"]["chance"], answer["size"], answer["by_worst"]) == (0.4, sizes[-1], True)


def test_samples_give_the_busiest_hour_and_what_the_counter_would_have_said(file: Path, tmp_path: Path) -> None:
    samples = tmp_path / "redo.csv"
    # The source documents' two rates: 2.70 GB an hour by LSN, 7.15 by os_log_written.
    rows = [f"{60 * minute},{minute * 45_000_000},{minute * 119_166_667}" for minute in range(121)]
    samples.write_text("time,lsn,os_log_written\n" + "\n".join(rows) + "\n")
    demand = demand_of_files([samples])
    found = sized(model_for(question(file)), demand, Limits(rto=600))
    assert found.demand.redo_per_hour == pytest.approx(2.7e9)
    assert found.demand.os_log_written_per_hour == pytest.approx(7.15e9)
    assert (found.by_os_log_written or 0) > 2 * (found.advice.smallest_for_hour or 0)
    assert any("your peak may be at another time" in each for each in found.warnings)
    assert "that counter is not redo" in shown(found)


def test_bad_input_is_one_line(file: Path, tmp_path: Path) -> None:
    local = question(file)
    with pytest.raises(InvalidInput, match="a recovery time of 0 s cannot be met"):
        size_for(local, GIB, 0)
    with pytest.raises(InvalidInput, match="there is no server 'oracle-19'"):
        recovery(question(file, server="oracle-19"))
    with pytest.raises(
        InvalidInput, match=r"the calibration knows no workload 'tpcc' of mariadb-10\.11: choose from bulk-update"
    ):
        recovery(changed(local, workload="tpcc"))
    with pytest.raises(InvalidInput, match=r"has several storages: choose one, as in .*:local"):
        recovery(changed(local, storage=str(file)))
    with pytest.raises(InvalidInput, match="has no storage 'tape'"):
        recovery(question(file, "tape"))
    with pytest.raises(InvalidInput, match="a buffer pool of 0B is too small"):
        recovery(changed(local, pool=0))
    with pytest.raises(InvalidInput, match=r"mysql-5\.5 cannot have a redo log of 8G: it takes 2M to 4094M"):
        recovery(question(file, server="mysql-5.5"), 8 * GIB)
    for age in (0, 100 * GIB):
        with pytest.raises(InvalidInput, match="cannot be with a redo log of 1G"):
            recovery(local, age=age)
    no_lsn, one = tmp_path / "no-lsn.csv", tmp_path / "one.csv"
    no_lsn.write_text("time,os_log_written\n0,0\n60,1000000\n120,2000000\n")
    one.write_text("time,lsn\n0,100\n")
    with pytest.raises(InvalidInput, match="has no LSN, and os_log_written is not redo"):
        demand_of_files([no_lsn])
    with pytest.raises(InvalidInput, match="has one sample"):
        demand_of_files([one])


def test_a_storage_is_not_predicted_as_long_as_no_error_of_that_is_known(tmp_path: Path) -> None:
    known = calibration()
    learnt = known.servers["mysql-9"].workloads["bulk-update"]
    on_one = msgspec.structs.replace(learnt, storages=("local",))
    server = msgspec.structs.replace(known.servers["mysql-9"], workloads={"bulk-update": on_one})
    of_storages = (HeldOut.STORAGE, HeldOut.UNSEEN_STORAGE)
    spreads = known.spreads.each(
        lambda spreads: {kind: spread for kind, spread in spreads.items() if kind not in of_storages}
    )
    path = tmp_path / "calibration.json"
    write_calibration(path, msgspec.structs.replace(known, servers={"mysql-9": server}, spreads=spreads))
    with pytest.raises(InvalidInput, match="no recovery of mysql-9 on gp3-3000 was measured under bulk-update"):
        recovery(question(path, "gp3-3000", "mysql-9"))
    write_calibration(path, msgspec.structs.replace(known, servers={"mysql-9": server}))
    asked = recovery(question(path, "gp3-3000", "mysql-9"))
    assert any("predicted from the figures of the disk" in warning for warning in asked.warnings)


def test_a_calibration_that_cannot_be_read_is_one_line(file: Path, tmp_path: Path) -> None:
    damaged, other = tmp_path / "damaged.json", tmp_path / "other.json"
    damaged.write_text(file.read_text()[:-200])
    other.write_text(file.read_text().replace(f'"format": {CALIBRATION_FORMAT}', '"format": 99'))
    for path, why in (
        (damaged, "is no calibration, or a damaged one"),
        (other, f"has format 99, and this version of redolab reads {CALIBRATION_FORMAT}"),
        (tmp_path / "none.json", "cannot be read"),
    ):
        with pytest.raises(InvalidInput, match=why):
            recovery(changed(question(file), storage=str(path)))


def test_the_commands_print_for_people_and_programs(file: Path) -> None:
    asked = ("--server", "mariadb-10.11", "--pool", "2G", "--storage", f"{file}:local")
    told = redolab("predict", *asked, "--log-size", "8G", "--json")
    assert json.loads(told.stdout)["log_size"] == 8 * GIB
    said = redolab("size", *asked, "--redo-per-hour", "2.7G", "--rto", "5m")
    assert (said.returncode, said.stderr) == (0, "")
    assert "Set the redo log to 3584M" in said.stdout
    refused = redolab("size", *asked, "--rto", "60s")
    assert (refused.returncode, refused.stderr) == (2, _GIVE)


def test_of_two_spreads_none_makes_a_larger_log_surer(file: Path) -> None:
    known = read_calibration(file)
    of_logs = known.spreads.by_redo[HeldOut.LOG_SIZE]
    own = Spread(deviation=of_logs.deviation + 0.1, count=3, doubling=0.0)
    small = msgspec.structs.replace(known, spreads=Spreads(by_redo={HeldOut.LOG_SIZE: own}))
    growing = Spread(deviation=0.1, count=9, doubling=0.5)
    far = msgspec.structs.replace(known, spreads=Spreads(by_redo={HeldOut.LOG_SIZE: growing}))
    both = with_spreads_of(small, far).spreads.by_redo[HeldOut.LOG_SIZE]
    assert (both.deviation, both.count, both.doubling) == (own.deviation, 3, 0.5)
    assert both.scale_above >= max(own.scale_above, of_logs.scale_above)
    assert both.at(2).scale_above > both.at(1).scale_above > both.scale_above


@pytest.mark.parametrize("name", ["percona-8.0", "mariadb-10.6"])
def test_a_series_whose_releases_differ_is_asked_for_in_full(file: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=rf"releases of {name} recover, or are resized, in different ways"):
        model_for(question(file, server=name))
    assert model_for(question(file, server=f"{name}.36")).dialect.family


def test_rows_of_a_blob_limit_the_log_of_old_servers(file: Path) -> None:
    for server, limits in (("mysql-5.6.51", True), ("mysql-5.7.44", False), ("mysql-9", False)):
        said = size_for(question(file, server=server), 40 * MIB, 600).warnings
        assert any("ten times as large as the BLOBs" in each for each in said) == limits


def _sampled(path: Path, start: int, lsn: int, hours: int = 24, rate: int = 1000) -> Path:
    """One sample a minute."""
    rows = [f"{start + 60 * number},{lsn + rate * number}" for number in range(60 * hours + 1)]
    path.write_text("\n".join(["time,lsn", *rows]))
    return path


def test_files_of_several_servers_are_no_days_of_one(tmp_path: Path) -> None:
    day = 86_400
    begins = 1_700_000_000
    one = _sampled(tmp_path / "mon.csv", begins, 10**9)
    next_day = _sampled(tmp_path / "tue.csv", begins + day, 10**9 + 2 * 10**6)
    another = _sampled(tmp_path / "other.csv", begins, 5 * 10**9, rate=7000)
    found = demand_of_files([one, next_day])
    assert found.days == 2
    (few,) = found.warnings
    assert few == "2 days were sampled: how much more redo the busiest hour of a month writes is told from 3 days on"
    mixed = demand_of_files([one, another])
    assert mixed.days == 1
    assert mixed.redo_per_hour == 7000 * 60
    assert any("do not follow one another" in each for each in mixed.warnings)


def test_options_that_would_do_nothing_are_refused() -> None:
    given = ("size", "--server", "mariadb-10.11", "--pool", "2G", "--redo-per-hour", "1G", "--rto", "60s")
    for more, said in (
        (("--undo-rows", "5"), "--until rolled-back"),
        (("--for", "1m"), "of a server that is sampled"),
        (("--user", "root"), "of a server that is sampled"),
    ):
        done = redolab(*given, *more)
        assert done.returncode == 2
        assert said in done.stderr


def test_collections_that_overlap_by_their_start_are_of_one_server(tmp_path: Path) -> None:
    """As cron starts them, a day each."""
    begins = 1_700_000_000
    one = _sampled(tmp_path / "mon.csv", begins, 10**9)
    other = _sampled(tmp_path / "tue.csv", begins + 86_400 - 30, 10**9 + 1440 * 1000 - 500)
    for files in ([one, other], [other, one]):
        found = demand_of_files(files)
        assert found.days == 2
        assert not any("do not follow one another" in each for each in found.warnings)
