"""Plan: a load for each server, storage, log size and workload, crashed at random times; each image recovered once."""

from __future__ import annotations

import itertools

from redolab.bench.checks import check_memory
from redolab.bench.planning import crash_blocks, load_of
from redolab.crashes.wanted import WantedCrash, crash_spec
from redolab.lab import Lab
from redolab.models.sizes import fill_pool
from redolab.records.kill_rule import KillRule
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.plan import draw_in_blocks
from redolab.servers.dialects import Purpose
from redolab.storage.attaching import check_possible
from redolab.workloads.catalogue import workload_catalogue

from .factors import Factors


def plan(factors: Factors, lab: Lab) -> CrashPlan:
    """Return the plan; crashes of a load follow one another, recovered on its storage and pool. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    pool = factors.pool or fill_pool(factors.tables(), max(factors.log_size))
    loads = list(itertools.product(factors.server, factors.storage, factors.log_size, factors.workload))
    check_memory([_wanted(factors, pool, storage, size, workload, 1) for _, storage, size, workload in loads], [pool])
    for name in factors.workload:
        workload_catalogue().get(name).require(lab)
    crashes = [
        (
            PlannedCrash(
                server=server,
                spec=crash_spec(lab.server(server), _wanted(factors, pool, storage, size, workload, number)),
            ),
            [PlannedRecovery(storage=storage, pool=pool)],
        )
        for server, storage, size, workload in loads
        for number in range(1, factors.crashes + 1)
    ]
    conditions = CrashConditions(storages=factors.profiles(), new_crash=True, check_disks=factors.check_disks)
    return draw_in_blocks(
        crash_blocks(crashes),
        repeat=1,
        seed=factors.drawn_seed(),
        conditions=conditions,
        keep=factors.keep,
        together=load_of,
    )


def _wanted(factors: Factors, pool: int, storage: str, size: int, workload: str, number: int) -> WantedCrash:
    return WantedCrash(
        log_size=size,
        dataset=factors.tables(),
        workload=workload,
        threads=factors.connections,
        kill=KillRule(moment=factors.moment),
        crash=factors.crash,
        # A transaction that stays open for half an hour would block purge.
        open_transaction_rows=0,
        trx_commit=factors.trx_commit,
        binary_log=factors.binary_log,
        purpose=Purpose.PRODUCTION,
        fill_pool=pool,
        number=number,
        storage=storage,
    )
