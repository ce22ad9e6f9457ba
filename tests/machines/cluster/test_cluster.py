"""A cluster of three machines with TLS: real crashes with one machine lost half-way, and what stops a run or goes on with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redolab.crash.records.recovery import RecoveryTrial
from redolab.machine import files
from redolab.project import PROJECT
from redolab.runs.frames import load_frame
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from tests.command import SMALL, new_run, processes_in, read_until, run_names, unpacked
from tests.machines.cluster.machines import ADDRESS, Cluster, certificates, cluster, tls
from tests.toy.dice import Thrown

MACHINES = ("one", "two", "three")
DICE = ("run", "dice", "--seed", "5", "--beside-others", "--cluster", ADDRESS)

pytestmark = [pytest.mark.server, pytest.mark.skipif(os.geteuid() != 0, reason="only root can have network namespaces")]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster; its machines know the toy experiment as well."""
    unpacked()
    # Beside the lab, so that the servers are linked and not copied.
    folder = PROJECT.root / ".lab/tests/cluster"
    files.remove(folder)
    folder.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDOLAB_EXPERIMENTS", str(PROJECT.root / "tests/toy"))
        with cluster(folder, MACHINES) as made:
            yield made
    files.remove(folder)


@pytest.fixture(autouse=True)
def all_have_joined(there: Cluster) -> Iterator[None]:
    """Every test begins with all machines, and leaves nothing at work on any of them."""
    for name in MACHINES:
        if name not in there.processes:
            there.join(name)
    yield
    for name in MACHINES:
        assert not processes_in(there.lab(name))
        assert not files.names(there.lab(name) / "storage/local/instances")
        assert there.processes[name].poll() is None, there.said(name)


@pytest.mark.thorough
def test_a_machine_that_is_lost_half_way_costs_no_recovery_and_doubles_none(there: Cluster) -> None:
    before = run_names()
    # Its machines are one machine, on which each sees the others' servers.
    asked = ("run", "recovery", *SMALL, "--crashes", "4", "--repeat", "1", "--beside-others", "--cluster", ADDRESS)
    with there.started(*asked) as process:
        # Its check cell is done by then, and its group's crash is there: the recovery is next.
        said = read_until(process, "two: ", "1 of 1")
        there.kill("two")
        assert process.stdout is not None
        said += process.stdout.read()
        assert process.wait(60) == 0, said
    there.join("two")
    run = new_run(before)
    record, trials = run.record(), run.trials(RecoveryTrial)
    assert record.state is RunState.COMPLETE
    assert sorted(trial.position for trial in trials if trial.position is not None) == [0, 1, 2, 3]
    assert run.trial_count() == 4
    assert [(each.group, each.attempt) for each in sorted(run.group_records(), key=lambda each: each.group)] == [
        (0, 1), (1, 1), (2, 1), (3, 1),
    ]  # fmt: skip
    # Each crash is another one, on whichever machine, and its story is here.
    assert len({trial.trial.image for trial in trials}) == 4
    assert len(list((run.folder / "crashes").glob("*/samples.csv"))) == 4
    assert len(list((run.folder / "logs").glob("*.log"))) == 4
    assert {record.sessions[trial.session].address for trial in trials} == {"one", "three"}
    rows = load_frame("recovery", run.folder.parent).filter(run=run.name)
    assert set(rows["machine"]) == {"one", "three"}
    checks = [Run(path) for path in (run.folder / "machines").iterdir()]
    assert {each.folder.name for each in checks} == {"one", "three"}
    assert all(each.trial_count() == 3 for each in checks)
    assert (run.folder / "plots/phases-on-one.svg").exists()
    # The machine that was lost measures again; what it had begun is gone.
    again = there.redolab(*DICE, "--sides", "6,20,8", "--pause-ms", "400")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "two: " in again.stdout
    assert "cleaned up" in again.stdout
    assert len(files.names(there.lab("two") / "cluster/jobs")) == 0


@pytest.mark.thorough
def test_ctrl_c_ends_the_work_there_and_a_resumed_run_has_every_step_once(there: Cluster) -> None:
    before = run_names()
    with there.started(*DICE, "--sides", "6,20,8,12,10", "--pause-ms", "500") as process:
        said = read_until(process, "3 of 5 dice measured")
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        said += process.stdout.read()
        assert process.wait(90) == 130, said
    assert all(not processes_in(there.lab(name)) for name in MACHINES)
    run = new_run(before)
    assert run.record().state is RunState.STOPPED
    assert len(run.trials(Thrown)) % 6 == 0
    kept = (run.folder / "trials.jsonl").read_bytes()
    done = there.redolab("run", "dice", "--resume", run.name, "--cluster", ADDRESS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (run.folder / "trials.jsonl").read_bytes().startswith(kept)
    assert sorted(each.position for each in run.trials(Thrown) if each.position is not None) == list(range(30))
    assert run.record().state is RunState.COMPLETE


@pytest.mark.thorough
def test_a_client_that_is_killed_leaves_no_machineprocesses_in(there: Cluster) -> None:
    before = run_names()
    with there.started(*DICE, "--sides", "6,20,8,12", "--pause-ms", "9000", "--repeat", "20") as process:
        read_until(process, "one: ", "2 of 40")
        process.kill()
    deadline = time.monotonic() + 30
    while any(processes_in(there.lab(name)) for name in MACHINES):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    run = new_run(before)
    assert run.record().state is RunState.RUNNING
    # Nothing of it was whole.
    assert run.trial_count() == 0
    RunStore().remove(run)


def test_an_error_there_stops_the_run_and_names_the_machine(there: Cluster) -> None:
    refused = there.redolab(*DICE, "--weight", str(2**39))
    assert refused.returncode == 1
    machine = refused.stderr.removeprefix("redolab: ").partition(":")[0]
    assert machine in MACHINES
    assert "512G" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_name_is_one_machines(there: Cluster) -> None:
    refused = there.redolab("worker", ADDRESS, "--name", "one")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_who_has_no_certificate_of_the_cluster_is_turned_away(there: Cluster, tmp_path: Path) -> None:
    theirs = certificates(tmp_path / "theirs")
    # Theirs, which the cluster's CA has not signed; they take the cluster for what it is.
    refused = there.redolab(*DICE, environment=tls(theirs, authority=there.certificates))
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    missing = there.redolab(*DICE, environment={"DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": "/no/such.key"})
    assert missing.returncode == 2
    assert "/no/such.key" in missing.stderr


def test_only_tls_is_listened_on_where_others_reach_it(there: Cluster) -> None:
    for process in there.processes.values():
        namespace = f"--net=/proc/{process.pid}/ns/net"
        said = _said("nsenter", namespace, "ss", "-Htlnp")
        ours = [line.split()[3] for line in said.splitlines() if f"pid={process.pid}," in line]
        (listening,) = [each for each in ours if not each.startswith("127.0.0.1:")]
        host, _, port = listening.rpartition(":")
        asked = _said("nsenter", namespace, sys.executable, "-c", _WITHOUT_CERTIFICATE, host, port)
        assert asked.startswith("turned away"), asked


_WITHOUT_CERTIFICATE = """
import socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
host = sys.argv[1].strip("*") or "127.0.0.1"
try:
    connection = context.wrap_socket(socket.create_connection((host, int(sys.argv[2])), 5))
    connection.settimeout(5)
    print("heard", connection.recv(100))
except (ssl.SSLError, ConnectionError) as error:
    print("turned away", error)
"""


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
