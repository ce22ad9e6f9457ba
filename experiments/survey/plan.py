"""Plan of a survey: the drawn crashes, each recovered with its drawn pools on every storage."""

from __future__ import annotations

import itertools

from redolab.bench.checks import check_memory
from redolab.crashes.wanted import WantedCrash, crash_spec
from redolab.lab import Lab
from redolab.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.plan import draw_plan
from redolab.storage.attaching import check_possible
from redolab.workloads.catalogue import workload_catalogue

from .design import DrawnCrash, drawn_crashes
from .factors import Factors


def plan(factors: Factors, lab: Lab) -> CrashPlan:
    """Return the plan; with `KEEP=off` crashes of one dataset follow one another: all datasets take too much space."""
    factors.check()
    check_possible(factors.profiles())
    seed = factors.drawn_seed()
    drawn = [
        (server, workload, size, each, number)
        for server, size, workload in itertools.product(factors.server, factors.log_size, factors.workload)
        for number, each in enumerate(
            drawn_crashes(
                size, factors.crashes, factors.pools, factors.most_memory, f"{seed} {server} {workload} {size}"
            ),
            start=1,
        )
    ]
    check_memory(
        [_wanted(factors, workload, size, each, number) for _, workload, size, each, number in drawn],
        [pool for *_, each, _ in drawn for pool in each.pools],
    )
    for name in factors.workload:
        workload_catalogue().get(name).require(lab)
    crashes: list[tuple[PlannedCrash, list[PlannedRecovery]]] = []
    for server, workload, size, each, number in sorted(drawn, key=lambda one: (one[0], one[2], one[3].tables, one[1])):
        spec = crash_spec(lab.server(server), _wanted(factors, workload, size, each, number))
        steps = [
            PlannedRecovery(storage=storage, pool=pool)
            for storage, pool in itertools.product(factors.storage, each.pools)
        ]
        crashes.append((PlannedCrash(server=server, spec=spec), steps))
    conditions = CrashConditions(storages=factors.profiles(), check_disks=factors.check_disks)
    return draw_plan(
        [crashes],
        repeat=factors.repeat,
        seed=seed,
        conditions=conditions,
        keep=factors.keep,
        together=lambda crash: crash.spec.dataset,
    )


def _wanted(factors: Factors, workload: str, log_size: int, drawn: DrawnCrash, number: int) -> WantedCrash:
    return WantedCrash(
        log_size=log_size,
        dataset=drawn.tables,
        workload=workload,
        kill=HIGHEST_AGE if drawn.age_share is None else KillRule(age_fraction=drawn.age_share),
        open_transaction_rows=0,
        fill_pool=drawn.pool_under_load,
        number=number,
        crash=factors.crash,
    )
