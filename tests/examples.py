"""A crash image and trials as data, for tests of what is made of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from redolab.counters import Sample
from redolab.crashes.dataset import DatasetSpec
from redolab.crashes.fill import KillRule
from redolab.crashes.images import IMAGE_FORMAT, CrashImage, CrashSpec
from redolab.crashes.load_figures import load_figures
from redolab.crashes.loads import Load
from redolab.crashes.recovery import RecoveryTrial
from redolab.lines import Line
from redolab.machine.copies import Copy
from redolab.machine.description import Disk, Machine
from redolab.models.capacity import capacity_before_8_0, one_file
from redolab.runs.schema import TrialRecord
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.timeline import timelines
from redolab.units import MIB
from redolab.workloads.contract import WorkloadMoment
from redolab.workloads.sysbench import SysbenchTables

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
        kill=KillRule(),
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
        capacity=capacity_before_8_0(one_file(log_size), header=12288, forced_at_async=True),
        hashes={},
    )


def production_load(run: str, log_size: int, rate: float) -> Load:
    """A load of a minute under production settings, with so many commits a second."""
    of_image = image()
    instance = replace(of_image.spec.instance, purpose=Purpose.PRODUCTION, log_size=log_size)
    spec = msgspec.structs.replace(of_image.spec, kill=KillRule(after=60), instance=instance)
    moments = [WorkloadMoment(monotonic=float(at), commits_per_second=rate, latency_95_ms=1.0) for at in range(61)]
    figures = load_figures(moments, [], [], of_image.capacity, 40, killed=60.0)
    assert figures is not None
    return Load(run, 0, "local", msgspec.structs.replace(of_image, spec=spec), moments, [], figures, [])


def record(measured: RecoveryTrial | None = None) -> TrialRecord[RecoveryTrial]:
    """A recovery as a run keeps it."""
    return TrialRecord(place=None, trial=measured or trial())


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
        storage="native",
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
        checks=(),
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
