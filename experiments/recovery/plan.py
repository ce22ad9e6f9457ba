"""The plan of the recovery experiment: every crash that is to be recovered once, and its recoveries."""

from __future__ import annotations

import itertools

from redolab.bench.checks import check_memory
from redolab.bench.planning import LOADS_POOL, crash_blocks, load_of, usual_pools
from redolab.crashes.wanted import WantedCrash, crash_spec
from redolab.lab import Lab
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.plan import draw_plan
from redolab.storage.attaching import check_possible
from redolab.workloads.catalogue import workload_catalogue

from .factors import Factors


def plan(factors: Factors, lab: Lab) -> CrashPlan:
    """The plan of all combinations, each crash with the largest log its server takes. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    wanted = [
        WantedCrash(
            log_size=log_size,
            dataset=factors.dataset,
            workload=factors.workload,
            warehouses=factors.warehouses,
            threads=factors.connections or factors.threads,
            think_time=factors.think_time,
            pool_dump=any(factors.pool_dump),
            kill=factors.rule(),
            crash=crash,
            open_transaction_rows=factors.open_transaction,
            trx_commit=factors.trx_commit,
            binary_log=factors.binary_log,
            number=number,
        )
        for log_size, crash, number in itertools.product(factors.log_size, factors.crash, range(1, factors.crashes + 1))
    ]
    check_memory(wanted, factors.pool or ())
    workload_catalogue().get(factors.workload).require(lab)
    crashes: list[tuple[PlannedCrash, list[PlannedRecovery]]] = []
    for name, each in itertools.product(factors.server, wanted):
        spec = crash_spec(lab.server(name), each)
        planned = PlannedCrash(server=name, spec=spec)
        steps = [
            PlannedRecovery(storage=storage, pool=pool, settings="+".join(filter(None, (settings, loaded))))
            for storage in factors.storage
            for pool in factors.pool or usual_pools(spec)
            for settings in factors.settings
            for loaded in (LOADS_POOL if dump else "" for dump in factors.pool_dump)
        ]
        if (planned, steps) not in crashes:
            crashes.append((planned, steps))
    conditions = CrashConditions(
        storages=factors.profiles(),
        sample_every=factors.sample_every,
        new_crash=factors.new_crash,
        check_disks=factors.check_disks,
        stuck_after=factors.stuck_after,
        warm_for=factors.warm_for(),
        looked_at=factors.follow,
    )
    return draw_plan(
        crash_blocks(crashes),
        repeat=factors.repeat,
        seed=factors.drawn_seed(),
        conditions=conditions,
        keep=factors.keep,
        together=load_of,
    )
