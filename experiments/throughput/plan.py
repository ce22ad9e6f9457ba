"""Plan: a load for each configuration, crashed at its end, and a crash with flushing throttled beside it; both
recovered.
"""

from __future__ import annotations

import itertools

from redolab.bench.checks import check_memory
from redolab.crashes.wanted import WantedCrash, crash_spec
from redolab.lab import Lab
from redolab.models.sizes import fill_pool
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.plan import draw_in_blocks
from redolab.servers.dialects import Purpose
from redolab.servers.extra_settings import settings_from
from redolab.storage.attaching import check_possible
from redolab.workloads.catalogue import workload_catalogue

from .factors import Factors


def plan(factors: Factors, lab: Lab) -> CrashPlan:
    """Return the plan: a block for each repeat, with every load of every server in a drawn order. Raises `LabError`.

    A drift of the host then affects all log sizes alike. All configurations share tables, pool and clients.
    """
    factors.check()
    check_possible(factors.profiles())
    pool = factors.pool or fill_pool(factors.tables(), max(factors.log_size))
    numbers = range(1, factors.repeat + 1)
    loads = {number: [_load(factors, pool, *which, number) for which in _which(factors)] for number in numbers}
    worst = [_worst(factors, pool, size) for size in factors.log_size if factors.worst_case]
    check_memory([*loads[1], *worst], [pool])
    workload_catalogue().get(factors.workload).require(lab)
    blocks: list[list[tuple[PlannedCrash, list[PlannedRecovery]]]] = []
    servers = {name: lab.server(name) for name in factors.server}
    for number, of_block in loads.items():
        block: list[tuple[PlannedCrash, list[PlannedRecovery]]] = []
        for name, server in servers.items():
            for (storage, _, settings), load in zip(_which(factors), of_block, strict=True):
                recovery = PlannedRecovery(storage=storage, pool=pool, settings=settings)
                block.append((PlannedCrash(server=name, spec=crash_spec(server, load)), [recovery]))
            for crash in worst if number == 1 else ():
                recoveries = [PlannedRecovery(storage=storage, pool=pool) for storage in factors.storage]
                block.append((PlannedCrash(server=name, spec=crash_spec(server, crash)), recoveries))
        blocks.append(block)
    conditions = CrashConditions(
        storages=factors.profiles(), new_crash=True, check_disks=factors.check_disks, warm_for=factors.warmup
    )
    return draw_in_blocks(blocks, repeat=1, seed=factors.drawn_seed(), conditions=conditions, keep=factors.keep)


def _which(factors: Factors) -> list[tuple[str, int, str]]:
    """Return storage, log size and settings of each configuration."""
    return list(itertools.product(factors.storage, factors.log_size, factors.settings))


def _load(factors: Factors, pool: int, storage: str, size: int, settings: str, number: int) -> WantedCrash:
    return WantedCrash(
        log_size=size,
        dataset=factors.tables(),
        workload=factors.workload,
        threads=factors.connections,
        think_time=factors.think_time,
        kill=factors.rule(),
        # A transaction that stays open for half an hour would block purge.
        open_transaction_rows=0,
        trx_commit=factors.trx_commit,
        binary_log=factors.binary_log,
        purpose=Purpose.PRODUCTION,
        fill_pool=pool,
        overrides=settings_from(settings),
        number=number,
        storage=storage,
        crash=factors.crash,
    )


def _worst(factors: Factors, pool: int, size: int) -> WantedCrash:
    return WantedCrash(
        log_size=size,
        dataset=factors.tables(),
        workload=factors.workload,
        threads=factors.connections,
        open_transaction_rows=0,
        trx_commit=factors.trx_commit,
        binary_log=factors.binary_log,
        fill_pool=pool,
        crash=factors.crash,
    )
