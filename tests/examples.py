"""A crash image and trials as data, for tests of what is made of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from redolab.crash.records.crash import IMAGE_FORMAT, CrashImage, CrashSpec
from redolab.crash.records.dataset import DatasetSpec
from redolab.crash.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.crash.records.recovery import RecoveryTrial, WarmTime
from redolab.crash.records.verdict import Judgement
from redolab.errorlog import timelines
from redolab.lines import Line
from redolab.machine.facts import Copy, Disk, Machine
from redolab.machine.machine_class import machine_classes
from redolab.results.alike import Keyed
from redolab.results.comparison_key import ComparisonKey, comparison_key, storage_key
from redolab.results.load_figures import load_figures
from redolab.results.loads import Load
from redolab.results.recoveries import Recovery
from redolab.runs.schema import Ruling, TrialRecord
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.redo_capacity import capacity_before_8_0, one_file
from redolab.servers.redo_counters import Sample
from redolab.units import MIB
from redolab.workloads.data import SysbenchTables, TableCheck, WorkloadReport

NAME = "mariadb-10.11-64M-20261121-100000"
LOG = [
    (0.10, "Starting MariaDB 10.11.19-MariaDB source revision abc server_uid x as process 2"),
    (0.20, "InnoDB: Starting crash recovery from checkpoint LSN=1000000"),
    (1.20, "InnoDB: End of log at LSN=41000000"),
    (1.21, "InnoDB: 1 transaction(s) which must be rolled back or cleaned up in total 500 row operations to undo"),
    (1.22, "InnoDB: To recover: 2000 pages"),
    (3.20, "InnoDB: 128 rollback segments are active."),
    (3.25, "InnoDB: log sequence number 41000000; transaction id 77"),
    (3.30, "/usr/sbin/mariadbd: ready for connections."),
    (3.80, "InnoDB: Rollback of non-prepared transactions completed"),
]


def image(why_killed: str = "the checkpoint age had reached its target of 44.8M") -> CrashImage:
    """A crash image."""
    log_size = 64 * MIB
    spec = CrashSpec(
        dataset=DatasetSpec(
            server="mariadb-10.11",
            version="10.11.19",
            size=32 * MIB,
            data=SysbenchTables(tables=16, rows=8388),
            open_transaction_rows=500,
        ),
        workload="bulk-update",
        threads=8,
        kill=HIGHEST_AGE,
        instance=InstanceRequest(purpose=Purpose.FILL, log_size=log_size, buffer_pool=128 * MIB),
    )
    return CrashImage(
        format=IMAGE_FORMAT,
        name=NAME,
        spec=spec,
        redo_format="MariaDB 10.8",
        made=datetime(2026, 11, 21, 10, tzinfo=UTC),
        why_killed=why_killed,
        fill_seconds=1.5,
        last_sample=Sample(monotonic=5.0, wall=6.0, lsn=41_500_000, checkpoint_lsn=1_000_000, dirty_pages=2_345),
        settings=(),
        variables={},
        capacity=capacity_before_8_0(one_file(log_size), header=12288, forced_at_limit=True),
        hashes={},
    )


def production_load(run: str, log_size: int, rate: float, lasted: int = 60) -> Load:
    """A load under production settings, with so many commits a second, of which the last 40 s are measured."""
    of_image = image()
    instance = replace(of_image.spec.instance, purpose=Purpose.PRODUCTION, log_size=log_size)
    spec = msgspec.structs.replace(of_image.spec, kill=KillRule(after=60), instance=instance)
    reports = [
        WorkloadReport(monotonic=float(at), commits_per_second=rate, latency_95_ms=1.0) for at in range(lasted + 1)
    ]
    figures = load_figures(reports, [], [], of_image.capacity, 40, killed=float(lasted))
    assert figures is not None
    made = msgspec.structs.replace(of_image, spec=spec)
    return Load(run, "local", load_key(spec), made, reports, [], figures, [])


def load_key(spec: CrashSpec) -> ComparisonKey:
    """The key of a load on this machine."""
    (here,) = machine_classes([MACHINE])
    return comparison_key(
        machine=here,
        server=spec.dataset.server,
        version=spec.dataset.version,
        spec=spec,
        storage=storage_key(spec.storage, None),
        buffer_pool=spec.instance.buffer_pool,
    )


def keyed(measured: Recovery | None = None, machine: Machine | None = None) -> Keyed:
    """A recovery on a machine, this one unless another is given, with its key."""
    made = measured or record()
    (here,) = machine_classes([machine or MACHINE])
    key = comparison_key(
        machine=here,
        server=made.trial.server,
        version=made.trial.version,
        spec=made.image.spec,
        storage=storage_key(made.trial.storage, None),
        buffer_pool=made.trial.buffer_pool,
        settings=made.trial.settings,
    )
    return Keyed("run", key, "local", "", made)


def record(
    measured: RecoveryTrial | None = None,
    *checks: TableCheck,
    of_image: CrashImage | None = None,
    warm: WarmTime | None = None,
) -> Recovery:
    """A recovery as a run keeps it, with its crash and the checks afterwards."""
    judgement = Judgement(
        image=NAME,
        server="mariadb-10.11",
        version="10.11.19",
        judged=datetime(2026, 11, 21, 10, 1, tzinfo=UTC),
        thorough=True,
        ruling=Ruling.RIGHT if all(check.passed for check in checks) else Ruling.WRONG,
        checks=checks,
    )
    return Recovery(TrialRecord(position=0, trial=measured or trial()), of_image or image(), warm, judgement)


def trial(seconds_to_ready: float = 3.3, *, repeat: int = 1, slower_apply: float = 0.0) -> RecoveryTrial:
    """A recovery whose server took as long as the log says, its process having started when the difference says."""
    lines = [
        Line(f"2026-11-21 10:00:00 0 [Note] {text}", arrival + (slower_apply if arrival > 2 else 0.0))
        for arrival, text in LOG
    ]
    (timeline,) = timelines(lines)
    return RecoveryTrial(
        image=NAME,
        server="mariadb-10.11",
        version="10.11.19",
        storage="local",
        log_size=64 * MIB,
        buffer_pool=128 * MIB,
        repeat=repeat,
        started=datetime(2026, 11, 21, 10, tzinfo=UTC),
        copy=Copy(seconds=0.1, reflink=False),
        cache_dropped=True,
        seconds_to_ready=seconds_to_ready,
        first_connection=seconds_to_ready + 0.01,
        first_write=seconds_to_ready + 0.02,
        rollback_ended=seconds_to_ready + 0.5,
        timeline=timeline,
        instance="0123456789abcdef",
    )


MACHINE = Machine(
    cpu="a CPU",
    cores=2,
    memory=2**34,
    kernel="Linux 6",
    system="Debian",
    virtualisation="",
    disk=Disk(
        device="/dev/x", model="", rotational=False, file_system="ext4", mount_options="rw", size=2**40, free=2**39
    ),
)
