"""A virtual machine under a server: what a cut of its power leaves is what was recorded, and what it loses is up to the host's cache."""

from __future__ import annotations

import csv
import subprocess

import pytest

from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.machine import files, processes
from redolab.powercut.cuts import cut_for_real
from redolab.powercut.guest import parts
from redolab.powercut.guest.host_cache import HostCache
from redolab.powercut.guest.machine import Guest
from redolab.powercut.guest.parts import guest_parts
from redolab.powercut.images import DiskImages
from redolab.powercut.recorded import WantedLoad, cut_room, record
from redolab.powercut.states import History
from redolab.records.dataset import DatasetSpec
from redolab.runs.store import RunStore
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.storage.catalogue import storage_profile
from redolab.storage.disk_model import built_disk_model
from redolab.storage.profiles import VOLATILE, ModelledDisk
from redolab.units import MIB
from redolab.workloads.data import Clients
from redolab.workloads.ledger import LedgerWorkload
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
