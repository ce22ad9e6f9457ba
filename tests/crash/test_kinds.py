"""The kinds of crash, on real servers."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from redolab.crash.crash import CrashLoad, WantedState, crash_images
from redolab.crash.dataset import copy_dataset, make_dataset
from redolab.crash.kinds.contract import copy_crashed_files
from redolab.crash.kinds.freeze import Freeze
from redolab.crash.records.crash import CrashSpec
from redolab.crash.records.kill_rule import KillRule, Uniform
from redolab.crash.records.recovery import Outcome, RecoveryTrial
from redolab.disks.place import own_place
from redolab.lab import Lab
from redolab.machine import files, processes
from redolab.results.crashes import crashes_of
from redolab.runs.store import RunStore
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.units import MIB
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.data import Clients
from tests.command import UNCHECKED, nothing_is_left, redolab
from tests.small_crash import WORKLOAD, small_dataset
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.server


@pytest.mark.parametrize("name", ["mariadb-10.11", "mysql-9"])
def test_a_freeze_copies_what_a_kill_at_the_same_moment_leaves(name: str, lab: Lab, home: Path) -> None:
    server, workload = lab.server(name), workload_catalogue().get(WORKLOAD)
    dataset = make_dataset(lab, server, workload, small_dataset(server, workload))
    folder, copied = home / "instances/struck", home / "instances/copied"
    request = InstanceRequest(purpose=Purpose.FILL, log_size=32 * MIB, buffer_pool=128 * MIB)
    place = own_place(home)
    with lab.journal.making(folder, "the instance of a test"), lab.journal.making(copied, "the copy of a test"):
        prepare_folder(server, copied)
        copy_dataset(server, dataset.folder / DATA, folder)
        with Instance.start(server, folder, request, folder / "error.log") as instance:
            instance.wait_ready()
            clients = Clients(connections=4)
            with workload.run(lab.tools, instance, dataset.spec.data, clients, folder / "workload.log"):
                time.sleep(2)
                Freeze().strike(instance, place)
                assert instance.pid is not None
                frozen = processes.identity(instance.pid)
                assert frozen is not None
                assert processes.is_stopped(frozen)
                copy_crashed_files(folder, copied)
                instance.kill()
        assert files.hash_folder(copied / DATA) == files.hash_folder(folder / DATA)


def test_a_frozen_load_stands_still_until_its_next_crash_is_asked_for(lab: Lab) -> None:
    server, workload = lab.server("mariadb-10.11"), workload_catalogue().get(WORKLOAD)
    spec = CrashSpec(
        dataset=small_dataset(server, workload),
        workload=WORKLOAD,
        threads=4,
        kill=KillRule(moment=Uniform(earliest=1, latest=2)),
        instance=InstanceRequest(purpose=Purpose.FILL, log_size=32 * MIB, buffer_pool=128 * MIB),
        crash="freeze",
    )
    wanted = [
        WantedState(spec=replace(spec, number=number), moment=number, name_suffix=f"-{number}") for number in (1, 2)
    ]
    struck: list[Instance] = []
    load = CrashLoad(server=server, workload=workload, wanted=wanted, before_crash=struck.append)
    with closing(crash_images(lab, load)) as images:
        for image in images:
            assert image.fill_seconds == pytest.approx(image.moment, abs=1)
            assert struck[-1].pid is not None
            frozen = processes.identity(struck[-1].pid)
            assert frozen is not None
            assert processes.is_stopped(frozen)
            time.sleep(2)
    assert len(struck) == 2


@pytest.mark.skipif(not processes.is_root(), reason="mounts need root")
@pytest.mark.parametrize("server", mostly_thorough(["mariadb-10.11", "mysql-9"], ["mariadb-10.11"]))
def test_after_a_power_cut_the_server_recovers_what_the_disk_had_flushed(server: str) -> None:
    done = redolab(
        *("run", "recovery", "--server", server, "--log-size", "64M", "--dataset", "32M", "--pool", "64M"),
        *("--open-transaction", "1000", "--crash", "disk-power", "--moment", "4s-5s", "--repeat", "1", "--keep", "off"),
        *UNCHECKED,
    )
    assert done.returncode == 0, done.stderr
    run = RunStore().get("latest")
    (image,) = crashes_of(run)
    assert image.spec.crash == "disk-power"
    (record,) = run.trials(RecoveryTrial)
    assert record.trial.outcome is Outcome.READY
    assert (run.folder / "crashes" / image.name / "samples.csv").stat().st_size > 0
    assert nothing_is_left()
