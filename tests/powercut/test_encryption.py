"""Loads of servers that encrypt, recorded: nothing that clients wrote stands on the disk, and what is kept can be recovered."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errors import FindingsMade
from redolab.lab import Lab
from redolab.machine import files, processes
from redolab.powercut.cuts import cut_for_real
from redolab.powercut.encryption import Encryption, can_encrypt, encryption_of
from redolab.powercut.explanation import Explanation
from redolab.powercut.kept_cut import KeptCut, keep_cut, read_kept_cut
from redolab.powercut.ledger import Fault
from redolab.powercut.recorded import RecordedLoad, WantedLoad, cut_room, record
from redolab.powercut.recording import DATA
from redolab.powercut.states import History
from redolab.records.dataset import DatasetSpec
from redolab.records.recovery import Outcome
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.storage.catalogue import storage_profile
from redolab.storage.disk_model import built_disk_model
from redolab.storage.profiles import VOLATILE, ModelledDisk
from redolab.units import MIB
from redolab.upkeep.recover_cut import recover_kept
from redolab.workloads.data import Clients
from redolab.workloads.ledger import LedgerWorkload

FILLER = b"x" * 100
"""What each row of the ledger has, its script says."""


def recorded(lab: Lab, name: str, room: Path, *, encrypted: bool) -> tuple[WantedLoad, RecordedLoad]:
    """A second of a server's load."""
    server, workload, profile = lab.server(name), LedgerWorkload(about=""), storage_profile("consumer")
    assert isinstance(profile, ModelledDisk)
    encryption: Encryption | None = encryption_of(lab, server) if encrypted else None
    files.make_folder(room)
    wanted = WantedLoad(
        server=server,
        workload=workload,
        dataset=DatasetSpec(
            server=server.name, version=server.version, size=16 * MIB, data=workload.data(0), open_transaction_rows=0
        ),
        data=workload.data(0),
        request=InstanceRequest(
            purpose=Purpose.PRODUCTION,
            log_size=64 * MIB,
            buffer_pool=128 * MIB,
            overrides=() if encryption is None else tuple(encryption.settings),
        ),
        clients=Clients(connections=2),
        seconds=1.0,
        parameters=profile.parameters(),
        cache=VOLATILE,
        file_system="xfs",
        encryption=encryption,
    )
    with lab.progress.stage("recording") as stage:
        load = record(lab, built_disk_model(lab), room, wanted, stage)
    assert load.ledger.acknowledgements
    return wanted, load


def written(lab: Lab, name: str, room: Path, *, encrypted: bool) -> bytes:
    """All bytes that a server under load wrote to its disk."""
    _, load = recorded(lab, name, room, encrypted=encrypted)
    return (load.kept / DATA).read_bytes()


def kept_in(folder: Path, wanted: WantedLoad, load: RecordedLoad, *, obeys: bool) -> KeptCut:
    """What a cut at the end of a load, of a disk that obeys flushes or not, is kept as."""
    cut = cut_for_real(load.recording, load.killed)
    losses = History(load.recording, VOLATILE, obeys=obeys).losses(cut.cut)
    kept = KeptCut(
        what="commits are lost",
        server=wanted.server.name,
        version=wanted.server.version,
        request=wanted.request,
        workload=wanted.workload,
        data=load.data,
        file_system=load.file_system,
        cache=VOLATILE,
        obeys=obeys,
        encrypted=True,
        began=load.began,
        ended=load.ended,
        killed=load.killed,
        time=cut.time,
        fault=Fault.LOST,
        explanation=Explanation(place=cut.cut.place, taken=len(losses), losses=tuple(losses)),
        outcome=Outcome.READY,
        ledger=None,
        failed=(),
        said=(),
    )
    keep_cut(kept, load, folder)
    return read_kept_cut(folder)


@pytest.mark.thorough
@pytest.mark.skipif(not processes.is_root(), reason="mounts need root")
@pytest.mark.parametrize("server", ["mariadb-11.8", "mysql-9"])
def test_of_a_server_that_encrypts_no_row_can_be_read_on_the_disk(lab: Lab, server: str) -> None:
    with cut_room(lab) as room:
        assert FILLER in written(lab, server, room / "plain", encrypted=False)
        assert FILLER not in written(lab, server, room / "encrypted", encrypted=True)


@pytest.mark.thorough
@pytest.mark.skipif(not processes.is_root(), reason="mounts need root")
@pytest.mark.parametrize("server", ["mariadb-11.8", "mysql-9"])
def test_a_kept_cut_of_a_server_that_encrypts_is_recovered_with_its_keys(lab: Lab, server: str, tmp_path: Path) -> None:
    with cut_room(lab) as room:
        wanted, load = recorded(lab, server, room / "load", encrypted=True)
        whole = kept_in(tmp_path / "whole", wanted, load, obeys=True)
        lost = kept_in(tmp_path / "lost", wanted, load, obeys=False)
    recover_kept(lab, whole, tmp_path / "whole", None)
    with pytest.raises(FindingsMade, match="it is so again"):
        recover_kept(lab, lost, tmp_path / "lost", None)


def test_which_servers_can_be_made_to_encrypt() -> None:
    assert can_encrypt("mariadb-11.8")
    assert can_encrypt("mysql-9")
    assert not can_encrypt("mysql-8.0")
    assert not can_encrypt("mysql-5.5")
    assert not can_encrypt("mariadb-10.2")
