"""A virtual machine under a server: what a cut of its power leaves is what was recorded, and what it loses is up to the host's cache."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from redolab.crashes.dataset import make_dataset
from redolab.errors import InvalidInput, WorkloadFailed
from redolab.lab import Lab
from redolab.machine import copies, files, processes
from redolab.machine.processes import Command
from redolab.machine.tools import Tools
from redolab.powercut.cuts import cut_for_real
from redolab.powercut.guest import parts
from redolab.powercut.guest.host_cache import HostCache
from redolab.powercut.guest.machine import Guest
from redolab.powercut.guest.parts import guest_parts
from redolab.powercut.images import DiskImages
from redolab.powercut.ledger import read_ledger
from redolab.powercut.recorded import WantedLoad, cut_room, let_in, record
from redolab.powercut.states import History
from redolab.records.dataset import DatasetSpec
from redolab.runs.store import RunStore
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.storage.catalogue import storage_profile
from redolab.storage.disk_model import built_disk_model
from redolab.storage.profiles import VOLATILE, ModelledDisk
from redolab.units import MIB
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import Clients, LedgerTables
from redolab.workloads.ledger import NOTES, PARTS, LedgerWorkload
from redolab.workloads.reporting import ReportingRun
from redolab.workloads.sysbench import moment_of
from tests.command import nothing_is_left, redolab

_CUTS = 10


def _wanted(lab: Lab, name: str, cache: HostCache) -> WantedLoad:
    server, workload, profile = lab.server(name), LedgerWorkload(about=""), storage_profile("consumer")
    assert isinstance(profile, ModelledDisk)
    return WantedLoad(
        server=server,
        workload=workload,
        dataset=DatasetSpec(
            server=server.name, version=server.version, size=16 * MIB, data=workload.data(0), open_transaction_rows=0
        ),
        data=workload.data(0),
        request=InstanceRequest(purpose=Purpose.PRODUCTION, log_size=64 * MIB, buffer_pool=128 * MIB),
        clients=Clients(connections=2),
        seconds=2.0,
        parameters=profile.parameters(),
        cache=VOLATILE,
        file_system="xfs",
        guest=Guest(guest_parts(lab), cache),
    )


@pytest.mark.vm
@pytest.mark.skipif(not processes.is_root(), reason="mounts need root")
@pytest.mark.parametrize("cache", list(HostCache))
def test_the_disk_after_the_cut_is_what_the_recording_says(lab: Lab, cache: HostCache) -> None:
    """The disk model took back what was not safe; the recording, which knows nothing of that, says the same."""
    with cut_room(lab) as whole:
        room = whole / "load"
        files.make_folder(room)
        with lab.progress.stage("recording") as stage:
            load = record(lab, built_disk_model(lab), room, _wanted(lab, "mariadb-11.8", cache), stage)
        assert load.ledger.acknowledgements
        history = History(load.recording, obeys=cache is not HostCache.UNSAFE)
        assert (len(load.recording.flushes) > 1) == (cache is not HostCache.UNSAFE)
        state = history.state(cut_for_real(load.recording, load.killed).cut)
        with DiskImages(history, load.base, load.kept).image(state, room / "made") as made:
            assert subprocess.run(["cmp", str(made), str(room / "disk")], check=False).returncode == 0


@pytest.mark.vm
@pytest.mark.skipif(not processes.is_root(), reason="mounts need root")
@pytest.mark.parametrize("server", ["mariadb-11.8", "mysql-9"])
def test_a_machine_that_flushes_loses_nothing_and_one_with_an_unsafe_cache_what_it_was_told(server: str) -> None:
    done = redolab(
        "run", "durability", "--server", server, "--trx-commit", "1", "--binary-log", "off", "--crash", "machine-power",
        "--states", str(2 * _CUTS), "--recordings", str(_CUTS), "--seconds", "3s", "--seed", "8",
        seconds=3000,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = RunStore().get("latest")
    try:
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        for cache in HostCache:
            of_cache = [row for row in rows if row["variation"] == f"machine-{cache}"]
            real = [row for row in of_cache if row["cuts"] == "of the machine"]
            assert len(real) == _CUTS
            # A machine whose disk was never flushed may not come up.
            assert all(int(row["acknowledged"]) > 0 for row in real if row["acknowledged"])
            lost = [row["lost"] != "0" or row["failed_checks"] != "0" for row in of_cache]
            assert any(lost) if cache is HostCache.UNSAFE else not any(lost)
        unsafe = [row for row in rows if row["variation"] == "machine-unsafe" and row["cuts"] == "of the machine"]
        assert all(row["lost"] != "0" for row in unsafe)
    finally:
        RunStore().remove(run)
    nothing_is_left()


_NOT_LET_IN: list[int] = []


class GivesUp(LedgerWorkload, frozen=True, kw_only=True, tag="gives-up"):
    """The ledger's clients, of which the first give up before they have sent a thing, or having sent one."""

    times: int
    having_sent: bool = False

    @contextmanager
    def run(
        self, tools: Tools, instance: Instance, data: LedgerTables, clients: Clients, output: Path
    ) -> Iterator[RunningWorkload]:
        """See `Workload`."""
        if len(_NOT_LET_IN) == self.times:
            with super().run(tools, instance, data, clients, output) as running:
                yield running
            return
        _NOT_LET_IN.append(1)
        files.make_folder(output.with_name(NOTES))
        (output.with_name(NOTES) / "1").write_text("S 1 5\n" if self.having_sent else "")
        process = processes.start(Command(["false"]), output)
        yield ReportingRun("sysbench", process, moment_of)


@pytest.mark.thorough
def test_clients_that_were_not_let_in_are_started_anew(lab: Lab, mariadb: InstalledServer, tmp_path: Path) -> None:
    workload, output = LedgerWorkload(about=""), tmp_path / "clients.log"
    request = InstanceRequest(purpose=Purpose.PRODUCTION, log_size=64 * MIB, buffer_pool=128 * MIB)
    spec = DatasetSpec(
        server=mariadb.name, version=mariadb.version, size=16 * MIB, data=workload.data(0), open_transaction_rows=0
    )
    dataset, folder = make_dataset(lab, lab.home, mariadb, workload, spec), tmp_path / "instance"
    prepare_folder(mariadb, folder)
    files.remove(folder / DATA)
    copies.copy_folder(dataset.folder / DATA, folder / DATA)
    with Instance.start(mariadb, folder, request, folder / "error.log") as instance:
        instance.wait_ready()

        def clients(which: LedgerWorkload) -> AbstractContextManager[RunningWorkload]:
            _NOT_LET_IN.clear()
            return let_in(lab.progress, which, lab.tools, instance, workload.data(0), Clients(connections=2), output)

        for hopeless in (GivesUp(about="", times=3), GivesUp(about="", times=1, having_sent=True)):
            with pytest.raises(WorkloadFailed, match="sysbench ended by itself"), clients(hopeless):
                pass
            files.remove(output.with_name(NOTES))
        with clients(GivesUp(about="", times=2)) as running:
            running.check_running()
            assert len(_NOT_LET_IN) == 2
        ledger = read_ledger(output.with_name(NOTES), PARTS, workload.defines)
        assert ledger.acknowledgements


def test_where_no_guest_can_be_made_it_is_said_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "names", lambda: ["fedora"])
    with pytest.raises(InvalidInput, match="on Debian on x86-64 alone"):
        parts.check_guests()


def test_a_cache_mode_that_qemu_does_not_have_is_refused() -> None:
    done = redolab("run", "durability", "--crash", "machine-power", "--host-cache", "directsync")
    assert done.returncode != 0
    assert "directsync" in done.stderr
