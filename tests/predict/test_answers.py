"""`predict` and `size`: their answers and what decides them. Their words are in `test_words.py`."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
import scipy

from redolab.errors import InvalidInput
from redolab.predict.asking import model_for, slowest_workload
from redolab.predict.calibration import CALIBRATION_FORMAT, with_spreads_of, write_calibration
from redolab.predict.chance_of_stuck import chance_for, reservations_about_stuck
from redolab.predict.log_size import Basis
from redolab.predict.question import Question, Until
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.rollback import RollbackRate
from redolab.predict.recovery_time.spread import Spread
from redolab.predict.recovery_time.spreads import Spreads
from redolab.predict.recovery_time.stuck import StuckCount, StuckCounts
from redolab.predict.recovery_time.work import CrashSize
from redolab.units import GIB, MIB
from tests.command import redolab
from tests.predict.examples import calibration, model, recovery, size_for, with_load, with_server
from tests.predict.recovery_time.examples import FAST

SMALL = 512 * MIB
"""A buffer pool that does not hold the redo of a full log of 1G."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "calibration.json"
    write_calibration(path, calibration())
    return path


def _from_file(storage: str) -> Question:
    return Question(server="mariadb-10.11", storage=storage, pool=2 * GIB)


@pytest.mark.parametrize("server", ["mariadb-10.11", "mariadb-10.5", "mysql-9", "mysql-5.7"])
def test_at_worst_the_age_is_that_at_which_statements_wait(server: str) -> None:
    found = model(server)
    assert recovery(found).redo == found.dialect.capacity(found.dialect.layout(GIB)).hard_limit


def test_a_prediction_warns_of_how_far_it_goes_beyond_the_measured_and_is_less_sure() -> None:
    found, within = recovery(model(undo_rows=600_000), 8 * GIB), recovery(model(pool=768 * MIB))
    assert sum(found.parts_s.values()) == pytest.approx(found.ready_s)
    assert found.rollback_s == pytest.approx(2.0)
    assert found.ninety.high_s / found.ready_s >= within.ninety.high_s / within.ready_s
    # Log and pool; a log of which two of the six crashes are; nothing.
    warnings = [each.warnings for each in (found, within, recovery(model(pool=384 * MIB), SMALL))]
    assert [len(each) for each in warnings] == [2, 1, 0]


def test_what_tables_add_is_of_the_disk_that_they_lie_on() -> None:
    known = with_server("mysql-9", seconds_per_table_on={"local": 0.0002})
    without, found = (recovery(model("mysql-9", known=known, tables=tables)) for tables in (None, 20_000))
    assert found.ready_s == pytest.approx(without.ready_s + 4.0)
    at_most = 4.0 * math.exp(float(scipy.stats.t.ppf(0.95, 8)) * 0.3)
    assert found.ninety.high_s == pytest.approx(without.ninety.high_s + at_most)
    assert found.warnings == without.warnings
    without, unknown = (recovery(model("mysql-9", "gp3-3000", known=known, tables=tables)) for tables in (None, 20_000))
    assert unknown.ready_s == pytest.approx(without.ready_s)
    assert len(unknown.warnings) == len(without.warnings) + 1


def test_a_rollback_is_of_the_storage_and_as_unsure_as_rollbacks_are() -> None:
    known = with_server("mysql-9", rollback_on={"local": RollbackRate(rows_per_s=300_000, most_rows=100_000)})
    without = msgspec.structs.replace(known.servers["mariadb-10.11"], rollback_on={})
    rate = RollbackRate(rows_per_s=5_000, most_rows=100_000)
    relative = msgspec.structs.replace(known.servers["mysql-9"], rollback_on={"gp3-3000": rate})
    servers = {**known.servers, "mariadb-10.11": without, "mysql-8.0": relative}
    known = msgspec.structs.replace(known, servers=servers)
    found = recovery(model("mysql-9", known=known, undo_rows=90_000))
    assert found.rollback_s == pytest.approx(0.3)
    beyond = recovery(model("mysql-9", known=known, undo_rows=6_000_000))
    assert len(beyond.warnings) == len(found.warnings) + 1
    # 20 s of rollback, of 30 crashes that differ by 0.2 in the logarithm, on top of what recovery takes at most.
    at_most = 20.0 * math.exp(float(scipy.stats.t.ppf(0.95, 30)) * 0.2)
    assert beyond.rolled_back_ninety is not None
    assert beyond.rolled_back_ninety.high_s == pytest.approx(beyond.ninety.high_s + at_most)
    by_relative = recovery(model("mysql-9", "gp3-3000", known=known, undo_rows=90_000))
    assert by_relative.rollback_s == pytest.approx(18.0)
    assert len(by_relative.warnings) == len(found.warnings) + 1
    assert recovery(model(known=known, undo_rows=90_000)).rollback_s is None
    with pytest.raises(InvalidInput):
        model(known=known, undo_rows=90_000, until=Until.ROLLED_BACK)


def test_what_is_cut_off_in_the_binary_log_is_rolled_back_before_ready_but_not_by_new_mariadb() -> None:
    rate = RollbackRate(rows_per_s=300_000, most_rows=1_000_000)
    for server, before_ready in (("mysql-9", 3.0), ("mariadb-10.11", 3.0), ("mariadb-11.8", 0.0)):
        known = with_server("mysql-9" if server == "mysql-9" else "mariadb-10.11", rollback_on={"local": rate})
        without, found = (recovery(model(server, known=known, prepared_rows=rows)) for rows in (None, 900_000))
        assert found.ready_s == pytest.approx(without.ready_s + before_ready)
        assert found.why.prepared_s == pytest.approx(before_ready)
        assert len(found.warnings) == len(without.warnings) + (before_ready == 0.0)
        assert found.rollback_s is None


def test_nothing_is_cut_off_in_a_binary_log_that_is_off() -> None:
    with pytest.raises(InvalidInput):
        model("mysql-9", prepared_rows=1000, binary_log=0)


def test_a_larger_transaction_that_is_cut_off_may_take_longer_for_each_row() -> None:
    rates = tuple(RollbackRate(rows_per_s=rate, most_rows=rows) for rows, rate in ((1000, 500.0), (10_000, 100.0)))
    known = with_server("mysql-9", prepared_on={"local": rates})
    seconds = [
        recovery(model("mysql-9", known=known, prepared_rows=rows)).why.prepared_s for rows in (1000, 2000, 20_000)
    ]
    assert seconds == [2.0, 20.0, 200.0]


def test_the_end_of_rollback_is_a_time_of_its_own() -> None:
    found = recovery(model(undo_rows=600_000))
    assert found.rolled_back_s is not None
    assert found.rolled_back_s == pytest.approx(found.ready_s + 2.0)
    assert found.rolled_back_ninety is not None
    assert found.rolled_back_ninety.low_s < found.rolled_back_s < found.rolled_back_ninety.high_s
    ready, rolled_back = (size_for(model(undo_rows=3_000_000, until=end), 0.1 * GIB, 30) for end in Until)
    assert (ready.advice.largest_within_rto or 0) > (rolled_back.advice.largest_within_rto or 0)
    later = zip(ready.table, rolled_back.table, strict=True)
    assert all(after.recovery_s == pytest.approx(before.recovery_s + 10.0) for before, after in later)
    with pytest.raises(InvalidInput):
        model(until=Until.ROLLED_BACK)


def test_a_version_that_was_not_measured_is_less_sure_and_is_warned_of() -> None:
    found, of_known = recovery(model("percona-8.0.36")), recovery(model("mysql-9"))
    assert found.measured_as == "mysql-9"
    assert found.ninety.high_s >= of_known.ninety.high_s
    another_patch = recovery(model("mysql-9.7.9"))
    assert len(another_patch.warnings) == len(of_known.warnings) + 1


def test_a_version_with_another_recovery_code_is_another_server() -> None:
    """MariaDB 10.11.3 has recovery rewritten (MDEV-29911): what 10.11.19 takes says less of 10.11.2."""
    same, older = (model(f"mariadb-10.11.{patch}") for patch in (5, 2))
    assert same.extrapolations == ()
    assert older.extrapolations == (HeldOut.SERVER,)


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
def test_a_version_with_the_wait_for_pending_reads_does_not_get_stuck(server: str, gets_stuck: bool) -> None:
    """8.0.30 to 8.4 write redo as 9.7 does and borrow its rates, but not its fault."""
    asked = model(server, pool=SMALL)
    assert asked.measured_as == "mysql-9"
    assert (chance_for(asked) is not None) == bool(reservations_about_stuck(asked, GIB)) == gets_stuck
    found = size_for(asked, 3.1 * GIB, 36_000)
    assert (max(row.stuck for row in found.table) > 0) == gets_stuck
    assert (found.size == found.advice.smallest_for_hour) != gets_stuck
    assert (HeldOut.SERVER in asked.extrapolations) == (server not in {"mysql-9", "percona-9.7.1"})


def test_a_calibration_of_a_version_with_the_wait_tells_nothing_of_one_without() -> None:
    counts = StuckCounts({"bulk-update": StuckCount(0, 300, 100, 0.0)})
    older = with_server("mysql-9", version="8.0.15", in_several_batches=counts).servers["mysql-9"]
    asked = model("mysql-9", pool=SMALL, known=msgspec.structs.replace(calibration(), servers={"mysql-8.0": older}))
    assert (asked.measured_as, chance_for(asked)) == ("mysql-8.0", None)
    assert reservations_about_stuck(asked, GIB)


def test_the_read_threads_of_the_server_decide() -> None:
    counts = StuckCounts({"bulk-update": StuckCount(30, 100, 100, 30.0)}, {16: StuckCount(0, 30, 30, 0.0)})
    known = with_server("mysql-9", in_several_batches=counts)
    asked = {
        threads: model("mysql-9", pool=SMALL, known=known, read_threads=threads) for threads in (None, 4, 15, 16, 64)
    }
    chances = {threads: chance.mean for threads, each in asked.items() if (chance := chance_for(each))}
    assert chances[None] == chances[4] == chances[15] == pytest.approx(30.5 / 101)
    assert chances[16] == chances[64] == pytest.approx(30.5 / 101 * 0.5 / 31)
    # That 4 are assumed is said.
    assert len(recovery(asked[None]).warnings) == len(recovery(asked[4]).warnings) + 1
    few, many = (size_for(asked[threads], 3.1 * GIB, 36_000) for threads in (4, 16))
    assert many.size == many.advice.smallest_for_hour != few.size
    assert any(change.startswith("read threads: ") for change in few.what_could_change)


def test_an_old_calibration_is_warned_of() -> None:
    old = msgspec.structs.replace(calibration(), made=datetime.now(UTC) - timedelta(days=800))
    assert len(recovery(model(known=old)).warnings) == len(recovery(model()).warnings) + 1


def test_the_size_holds_an_hour_recovers_in_time_and_has_lines_to_paste() -> None:
    found = size_for(model(), 3.1 * GIB, 300)
    assert (found.basis, found.size) == (Basis.HOUR, found.advice.smallest_for_hour) == (Basis.HOUR, 4 * GIB)
    assert found.expected is not None
    assert found.expected.ninety.high_s <= 300
    lines = {each.where.partition(":")[0]: each.lines for each in found.lines}
    assert lines["my.cnf"] == ("[mysqld]", f"innodb_log_file_size = {4 * GIB}")
    assert {"changing it", "systemd", "Kubernetes", "failover"} < set(lines)


@pytest.mark.parametrize(
    ("server", "redo_per_hour", "rto", "lines"),
    [
        # The unit has 900 s, extended while InnoDB recovers; no timeout; systemd's default, 90 s.
        ("mariadb-10.11", 300 * MIB, 600, []),
        ("mysql-9", 300 * MIB, 600, []),
        ("mysql-9", 40 * GIB, 36_000, ["[Service]", "TimeoutStartSec=infinity"]),
        ("mariadb-10.2.11", 5 * GIB, 3600, ["[Service]", "TimeoutStartSec=infinity"]),
    ],
)
def test_no_line_to_paste_lowers_a_start_timeout(
    server: str, redo_per_hour: float, rto: float, lines: list[str]
) -> None:
    # All redo fits into the pool at once: of a server that gets stuck in more batches no larger log would be advised.
    found = size_for(model(server, pool=256 * GIB), redo_per_hour, rto)
    systemd = next(each for each in found.lines if each.where.startswith("systemd"))
    assert [line for line in systemd.lines if not line.startswith("#")] == lines


@pytest.mark.parametrize(("server", "program"), [("mariadb-10.11", "mariadb-admin"), ("mysql-9", "mysqladmin")])
def test_the_probes_of_a_pod_wait_for_a_recovery(server: str, program: str) -> None:
    found = size_for(model(server, pool=256 * GIB), 2.7 * GIB, 300)
    pasted = next(each for each in found.lines if each.where.startswith("Kubernetes"))
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


@pytest.mark.parametrize(
    ("server", "statements"),
    [
        ("mysql-5.5", []),
        ("mysql-8.0", []),
        ("mysql-9", ["SET PERSIST innodb_redo_log_capacity = {size};"]),
        ("mariadb-10.5", []),
        ("mariadb-10.9.2", ["SET GLOBAL innodb_log_file_size = {size};"]),
    ],
)
def test_how_the_size_is_changed_depends_on_the_version(server: str, statements: list[str]) -> None:
    found = size_for(model(server), 300 * MIB, 600)
    changing = next(each.lines for each in found.lines if each.where == "changing it")
    expected = [statement.format(size=found.size) for statement in statements]
    assert [line for line in changing if not line.startswith("--")] == expected


def test_where_an_hour_takes_too_long_the_largest_in_time_is_set_and_what_would_change_that() -> None:
    found = size_for(model(storage="gp3-3000", pool=SMALL), 7.15 * GIB, 60)
    assert (found.basis, found.size) == (Basis.TIME, found.advice.largest_within_rto)
    assert found.expected is not None
    assert found.rule is not None
    assert found.expected.chance < 0.05 < found.rule.chance
    kinds = [change.partition(":")[0] for change in found.what_could_change]
    assert kinds[:2] == ["recovery time", "buffer pool"]
    assert any("on local" in change for change in found.what_could_change[2:])


def test_a_server_that_gets_stuck_is_given_no_log_that_takes_several_batches() -> None:
    asked = model("mysql-9", pool=SMALL)
    found = size_for(asked, 3.1 * GIB, 36_000)
    chance = chance_for(asked)
    assert chance is not None
    assert chance.mean > 0.05
    assert found.size is not None
    assert found.basis is Basis.TIME
    assert asked.work_at(asked.worst_age(found.size)).batches == 1
    assert size_for(asked, 3.1 * GIB, 36_000, chance=0.5).basis is Basis.HOUR


def test_a_workload_that_is_the_slowest_at_one_amount_is_not_taken_for_the_slowest() -> None:
    server = calibration().servers["mysql-9"]
    bulk = server.workloads["bulk-update"]
    with_more_to_open = msgspec.structs.replace(bulk, rates={**bulk.rates, "start": bulk.rates["start"] + 10})
    with_slower_redo = msgspec.structs.replace(bulk, rates={**bulk.rates, "redo": 2 * bulk.rates["redo"] + 2})
    both = {"opens long": with_more_to_open, "slow redo": with_slower_redo}
    ready = {
        name: [each.ready(CrashSize(redo=redo, dirty_pages=0), redo, FAST) for redo in (GIB, 16 * GIB)]
        for name, each in both.items()
    }
    assert ready["opens long"][0] > ready["slow redo"][0]
    assert ready["opens long"][1] < ready["slow redo"][1]
    assert slowest_workload(msgspec.structs.replace(server, workloads=both)) == "slow redo"


def test_the_command_answers_by_its_options(file: Path) -> None:
    done = redolab(
        *("size", "--server", "mariadb-10.11", "--pool", "2G", "--storage", f"{file}:local", "--redo-per-hour", "7G"),
        *("--rto", "100s", "--chance", "40%", "--crash", "worst", "--json"),
    )
    answer = json.loads(done.stdout)
    size = size_for(model(), 7 * GIB, 100, chance=0.4).size
    assert (answer["limits"]["chance"], answer["size"], answer["by_worst"]) == (0.4, size, True)


def test_a_storage_is_not_predicted_as_long_as_no_error_of_that_is_known() -> None:
    known = with_load("mysql-9", storages=("local",))
    assert HeldOut.UNSEEN_STORAGE in model("mysql-9", "gp3-3000", known=known).extrapolations
    unjudged = msgspec.structs.replace(known, spreads=known.spreads.without((HeldOut.STORAGE, HeldOut.UNSEEN_STORAGE)))
    with pytest.raises(InvalidInput):
        model("mysql-9", "gp3-3000", known=unjudged)


def test_a_storage_of_a_calibration_file_is_named_unless_it_is_the_only_one(file: Path) -> None:
    assert model_for(_from_file(f"{file}:gp3-3000")).storage == "gp3-3000"
    for storage in (f"{file}", f"{file}:tape"):
        with pytest.raises(InvalidInput):
            model_for(_from_file(storage))


def test_a_calibration_that_cannot_be_read_is_refused(file: Path, tmp_path: Path) -> None:
    content, changed = file.read_text(), tmp_path / "changed.json"
    with_other_format = content.replace(f'"format": {CALIBRATION_FORMAT}', '"format": 99')
    for text in (content[:-200], with_other_format):
        changed.write_text(text)
        with pytest.raises(InvalidInput):
            model_for(_from_file(f"{changed}:local"))
    with pytest.raises(InvalidInput):
        model_for(_from_file(f"{tmp_path / 'none.json'}:local"))


def test_of_two_spreads_none_makes_a_larger_log_surer() -> None:
    known = calibration()
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
def test_a_series_whose_releases_differ_is_asked_for_in_full(name: str) -> None:
    with pytest.raises(InvalidInput):
        model(name)
    assert model(f"{name}.36").dialect.family
