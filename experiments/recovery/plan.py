"""The plan of the recovery experiment: every crash that is to be recovered once, and its recoveries."""

from __future__ import annotations

import itertools

from redolab.crashes.bench import SMALLER, CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.crashes.dataset import DatasetSpec
from redolab.crashes.fill import KillRule
from redolab.crashes.images import CrashSpec, made_with
from redolab.lab import Lab
from redolab.models.sizes import default_dataset, default_pool, fill_pool
from redolab.runs.plan import draw_plan
from redolab.runs.room import Needs, check_room
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.storage.attaching import check_possible
from redolab.units import format_size
from redolab.workloads.known import workload_catalogue

from .factors import SMALLEST_POOL, Factors

_SMALL_POOL_SHARE = 4


def plan(factors: Factors, lab: Lab) -> CrashPlan:
    """The plan of all combinations, each crash with the largest log its server takes. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    _check_memory(factors)
    crashes: list[tuple[PlannedCrash, list[PlannedRecovery]]] = []
    numbers = range(1, factors.crashes + 1)
    for name, log_size, number in itertools.product(factors.server, factors.log_size, numbers):
        spec = _crash(lab.server(name), log_size, number, factors)
        planned = PlannedCrash(server=name, spec=spec)
        steps = [
            PlannedRecovery(storage=storage, pool=pool, settings=settings)
            for storage in factors.storage
            for pool in factors.pool or _default_pools(spec)
            for settings in factors.settings
        ]
        if (planned, steps) not in crashes:
            crashes.append((planned, steps))
    conditions = CrashConditions(
        storages=factors.profiles(),
        sample_every=factors.sample_every,
        new_crash=factors.new_crash,
        check_disks=factors.check_disks,
        stuck_after=factors.stuck_after,
    )
    return draw_plan(
        crashes, repeat=factors.repeat, seed=factors.drawn_seed(), conditions=conditions, keep=factors.keep
    )


def _check_memory(factors: Factors) -> None:
    """Refuse pools that cannot be had, before a server is fetched."""
    pools = [fill_pool(_dataset_size(log_size, factors), log_size) for log_size in factors.log_size]
    largest = max([*pools, *(factors.pool or ())])
    check_room(Needs(memory=largest, memory_for=f"a buffer pool of {format_size(largest)}", remedy=SMALLER))


def _crash(server: InstalledServer, asked_log_size: int, number: int, factors: Factors) -> CrashSpec:
    log_size = server.dialect.layout(min(asked_log_size, server.dialect.largest_log)).size
    workload = workload_catalogue().get(factors.workload)
    size = _dataset_size(log_size, factors)
    dataset = DatasetSpec(
        server=server.name,
        version=server.version,
        size=size,
        data=workload.data(size),
        open_transaction_rows=factors.open_transaction,
    )
    request = InstanceRequest(
        purpose=Purpose.FILL,
        log_size=log_size,
        buffer_pool=fill_pool(size, log_size),
        flush_log_at_trx_commit=factors.trx_commit,
        binary_log=factors.binary_log,
    )
    return CrashSpec(
        dataset=dataset,
        workload=factors.workload,
        threads=factors.threads,
        kill=KillRule.from_options(factors.kill_at, factors.kill_after),
        instance=request,
        made_with=made_with(workload, server.dialect.settings(request)),
        number=number,
    )


def _dataset_size(log_size: int, factors: Factors) -> int:
    return factors.dataset or default_dataset(log_size)


def _default_pools(spec: CrashSpec) -> tuple[int, ...]:
    """One that holds all pages of the tables, and a quarter of the log, which needs more batches."""
    small = max(SMALLEST_POOL, spec.instance.log_size // _SMALL_POOL_SHARE)
    return tuple(dict.fromkeys((default_pool(spec.dataset.size), small)))
