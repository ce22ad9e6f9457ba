"""The plan of a calibration: each of its crashes recovered in several batches and with as large a pool as there is, on every storage."""

from __future__ import annotations

import itertools

from redolab.bench.checks import check_memory
from redolab.crashes.wanted import WantedCrash, crash_spec
from redolab.lab import Lab
from redolab.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.plan import draw_plan
from redolab.storage.attaching import check_possible

from .design import EndCrash, end_crashes
from .factors import Factors


def plan(factors: Factors, lab: Lab) -> CrashPlan:
    """The plan of all servers and storages. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    designed = end_crashes(factors.log_size)
    check_memory(
        [_wanted(each) for each in designed], [pool for each in designed for pool in each.pools(factors.most_memory)]
    )
    crashes = []
    for name, each in itertools.product(factors.server, designed):
        steps = [
            PlannedRecovery(storage=storage, pool=pool)
            for storage in factors.storage
            for pool in dict.fromkeys(each.pools(factors.most_memory))
        ]
        crashes.append((PlannedCrash(server=name, spec=crash_spec(lab.server(name), _wanted(each))), steps))
    conditions = CrashConditions(storages=factors.profiles())
    return draw_plan(
        crashes, repeat=factors.repeat, seed=factors.drawn_seed(), conditions=conditions, keep=factors.keep
    )


def _wanted(crash: EndCrash) -> WantedCrash:
    return WantedCrash(
        log_size=crash.log_size,
        dataset=crash.tables,
        workload=crash.workload,
        kill=HIGHEST_AGE if crash.age_share is None else KillRule(age_fraction=crash.age_share),
    )
