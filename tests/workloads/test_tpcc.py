"""TPC-C on real servers: loading, its consistency conditions, a crash under it, and the clients that come back."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from redolab.crash.dataset import copy_dataset, make_dataset
from redolab.crash.dataset_store import remove_dataset
from redolab.crash.image_store import ImageStore
from redolab.crash.records.dataset import DatasetSpec
from redolab.lab import Lab, journal_of, native_folder
from redolab.machine import files
from redolab.project import PROJECT
from redolab.results.recoveries import recoveries_of
from redolab.runs.store import Run, RunStore
from redolab.servers.dialects import SOCKET, InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Connections, Instance
from redolab.units import MIB
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.data import DATABASE
from redolab.workloads.tpcc.conditions import NONE_VIOLATED, check_conditions, conditions
from redolab.workloads.tpcc.tables import BYTES_PER_WAREHOUSE
from tests.command import UNCHECKED, nothing_is_left, redolab, signal_at

pytestmark = pytest.mark.server

ONE = ("--workload", "tpcc", "--warehouses", "1", "--log-size", "64M", "--open-transaction", "5000", *UNCHECKED)
CRASH = ("run", "recovery", *ONE, "--pool", "192M", "--repeat", "1", "--warmup", "10s", "--connections", "4")


def spec(server: InstalledServer, rows: int) -> DatasetSpec:
    """One warehouse; `rows` of the lab's own table make it a dataset of its own."""
    workload = workload_catalogue().get("tpcc")
    return DatasetSpec(
        server=server.name,
        version=server.version,
        size=BYTES_PER_WAREHOUSE,
        data=workload.data(BYTES_PER_WAREHOUSE),
        open_transaction_rows=rows,
    )


class Breaker(threading.Thread):
    """Breaks off connections of whoever loads into an instance, so many times."""

    def __init__(self, folder: Path, times: int) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._left = times
        self.broken: list[str] = []
        self.over = threading.Event()

    def run(self) -> None:
        while self._left and not self.over.wait(0.05):
            try:
                self._break_one()
            except (pymysql.MySQLError, OSError):
                continue

    def _break_one(self) -> None:
        with Connections(self._folder / SOCKET).connect(1.0) as connection, connection.cursor() as cursor:
            while self._left and not self.over.wait(0.01):
                cursor.execute(
                    "SELECT id, info FROM information_schema.processlist WHERE user = 'redolab' AND info LIKE 'INSERT INTO stock%'"
                )
                if row := cursor.fetchone():
                    cursor.execute(f"KILL {row[0]}")
                    self._left -= 1
                    self.broken.append(str(row[1])[:40])
                    # That one has to come back before the next is broken.
                    self.over.wait(1.5)


@pytest.mark.thorough
def test_loading_goes_on_after_connections_are_lost_and_all_conditions_hold(
    lab: Lab, home: Path, mariadb: InstalledServer
) -> None:
    workload, wanted = workload_catalogue().get("tpcc"), spec(mariadb, 100)
    workload.require(lab)
    remove_dataset(home, wanted.key, lab.journal)
    breaker = Breaker(home / "datasets" / f"{wanted.key}.partial", 2)
    breaker.start()
    try:
        # It is kept only if every row is there and every condition holds.
        dataset = make_dataset(lab, mariadb, workload, wanted)
    finally:
        breaker.over.set()
        breaker.join()
    assert len(breaker.broken) == 2
    loaded = files.folder_size(dataset.folder / DATA / DATABASE)
    assert 0.7 * BYTES_PER_WAREHOUSE < loaded < 2 * BYTES_PER_WAREHOUSE


@pytest.fixture
def loaded(lab: Lab, home: Path, mariadb: InstalledServer, tmp_path: Path) -> Iterator[Instance]:
    """A server on a copy of one loaded warehouse."""
    workload, wanted = workload_catalogue().get("tpcc"), spec(mariadb, 100)
    workload.require(lab)
    dataset = make_dataset(lab, mariadb, workload, wanted)
    folder = home / "instances/tpcc"
    with lab.journal.making(folder, "the instance of a test"):
        copy_dataset(mariadb, dataset.folder / DATA, folder)
        request = InstanceRequest(purpose=Purpose.PRODUCTION, log_size=64 * MIB, buffer_pool=256 * MIB)
        with Instance.start(mariadb, folder, request, tmp_path / "error.log") as instance:
            instance.wait_ready(120)
            yield instance


WRONG = [
    ("UPDATE warehouse SET w_ytd = w_ytd + {} 0.01", {"3.3.2.1", "3.3.2.8"}),
    ("UPDATE district SET d_ytd = d_ytd + {} 0.01 WHERE d_id = 3", {"3.3.2.1", "3.3.2.9"}),
    ("UPDATE district SET d_next_o_id = d_next_o_id + {} 1 WHERE d_id = 3", {"3.3.2.2"}),
    ("UPDATE new_order SET no_o_id = no_o_id + {} 5000 WHERE no_d_id = 1 AND no_o_id IN (3000, 8000)", {"3.3.2.2", "3.3.2.3", "3.3.2.5"}),
    ("UPDATE orders SET o_ol_cnt = o_ol_cnt + {} 1 WHERE o_d_id = 2 AND o_id = 7", {"3.3.2.4", "3.3.2.6"}),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + {} IF(o_id = 7, 1, -1) WHERE o_d_id = 2 AND o_id IN (7, 8)",
        {"3.3.2.6"},
    ),
    ("UPDATE history SET h_amount = h_amount + {} 0.01 WHERE h_c_d_id = 4 AND h_c_id = 9", {"3.3.2.8", "3.3.2.9", "3.3.2.10"}),
    ("UPDATE customer SET c_balance = c_balance + {} 0.01 WHERE c_d_id = 4 AND c_id = 9", {"3.3.2.10", "3.3.2.12"}),
    ("UPDATE customer SET c_ytd_payment = c_ytd_payment + {} 0.01 WHERE c_d_id = 4 AND c_id = 9", {"3.3.2.12"}),
    ("UPDATE customer SET c_delivery_cnt = c_delivery_cnt + {} 1 WHERE c_d_id = 4 AND c_id = 9", {"3.3.2.11"}),
    ("UPDATE order_line SET ol_amount = ol_amount + {} 0.01 WHERE ol_d_id = 5 AND ol_o_id = 9 AND ol_number = 1", {"3.3.2.10", "3.3.2.12"}),
]  # fmt: skip


@pytest.mark.thorough
def test_each_condition_finds_what_violates_it_and_nothing_else(loaded: Instance) -> None:
    followed: list[tuple[float, float]] = []
    with loaded.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"USE {DATABASE}")
        for statement, violated in WRONG:
            cursor.execute(statement.format("+"))
            found = check_conditions(
                connection, conditions("new_order"), 1, lambda done, total, _: followed.append((done, total))
            )
            wrong = {each.what.split()[2].rstrip(":"): each.found for each in found if not each.passed}
            assert set(wrong) == violated, statement
            assert all(each.endswith(", the first in warehouse 1") for each in wrong.values()), wrong
            cursor.execute(statement.format("-"))
        cursor.execute("UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 6 AND o_id = 1")
        found = check_conditions(connection, conditions("new_order"), 1, lambda *_: None)
    assert {each.what.split()[2].rstrip(":") for each in found if each.found != NONE_VIOLATED} == {
        "3.3.2.5",
        "3.3.2.7",
    }
    assert followed[:12] == [(done, 12) for done in range(12)]


def test_the_first_check_of_a_recovery_is_whole_and_the_later_ones_are_quick(loaded: Instance) -> None:
    workload = workload_catalogue().get("tpcc")
    data = workload.data(BYTES_PER_WAREHOUSE)
    with loaded.connections.connect() as connection:
        first = workload.verify(connection, data, 1, lambda *_: None)
        later = workload.verify(connection, data, 2, lambda *_: None)
    assert all(each.passed for each in (*first, *later))
    assert sum("TPC-C condition" in each.what for each in first) == 12
    assert [each.what for each in first if "CHECK TABLE" in each.what] == ["CHECK TABLE redolab.order_line EXTENDED"]
    assert "rows of stock" in [each.what for each in first]
    assert sum("TPC-C condition" in each.what for each in later) == 3
    assert [each.what for each in later if "CHECK TABLE" in each.what] == ["CHECK TABLE redolab.stock EXTENDED"]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A crash under TPC-C with its buffer pool dumped, recovered without and with loading it."""
    store = ImageStore(native_folder(PROJECT.lab))
    before = set(store.names())
    done = redolab(*CRASH, "--pool-dump", "off,on", "--new-crash", "on")
    assert done.returncode == 0, done.stderr
    made = RunStore().get("latest")
    (made.folder / "said").write_text(done.stdout)
    yield made
    RunStore().remove(made)
    for name in set(store.names()) - before:
        store.remove(name, journal_of(PROJECT.lab))


@pytest.mark.thorough
def test_the_clients_are_stopped_at_the_crash_and_started_anew_at_ready(run: Run) -> None:
    assert nothing_is_left()
    first, second = sorted(recoveries_of(run), key=lambda each: each.trial.settings)
    assert [first.trial.settings, second.trial.settings] == ["", "innodb_buffer_pool_load_at_startup=1"]
    for each in (first, second):
        trial, warm = each.trial, each.warm
        assert warm is not None
        assert trial.seconds_to_ready is not None
        assert warm.commits_before > 10
        assert warm.new_orders_before == pytest.approx(0.45 * warm.commits_before, rel=0.2)
        assert trial.seconds_to_ready <= warm.clients_started + 0.05
        assert warm.first_commit is not None
        assert warm.clients_started < warm.first_commit < warm.clients_started + 5
        assert warm.back is None or warm.back >= warm.clients_started
        assert warm.best_share > 0
        assert (run.folder / warm.series).read_text().startswith("monotonic,commits_per_second")


@pytest.mark.thorough
def test_the_image_is_checked_against_all_conditions_once(run: Run) -> None:
    judged = [each.judgement for each in recoveries_of(run) if each.judgement is not None]
    counts = sorted(sum("TPC-C condition" in check.what for check in each.checks) for each in judged)
    assert counts == [3, 12]
    assert sorted(each.thorough for each in judged) == [False, True]
    assert all(check.passed for each in judged for check in each.checks)


@pytest.mark.thorough
def test_the_pool_was_loaded_where_that_was_asked_for(run: Run) -> None:
    logs = {path.name: path.read_text(errors="replace") for path in (run.folder / "logs").glob("*.log")}
    assert len(logs) == 2
    assert sum("Buffer pool(s) load completed" in text for text in logs.values()) == 1


@pytest.mark.thorough
def test_ctrl_c_while_the_clients_are_followed_leaves_nothing(run: Run) -> None:
    status, said = signal_at("… following the clients", signal.SIGINT, [*CRASH, "--pool-dump", "off,on"])
    assert status == 130, said
    assert "Traceback" not in said
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and "go-tpc" in _command_lines():
        time.sleep(0.05)
    assert "go-tpc" not in _command_lines()
    assert nothing_is_left()


def _command_lines() -> str:
    return "\n".join(
        path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.exists()
    )


def test_tpcc_mysql_is_looked_for_before_anything_starts() -> None:
    done = redolab("run", "recovery", "--workload", "tpcc-mysql", environment={"REDOLAB_TPCC_MYSQL": "/nowhere"})
    assert (done.returncode, done.stdout) == (2, "")
