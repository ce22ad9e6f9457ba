"""Plan of the anatomy: every case is crashed several times, and every crash recovered as often."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from redolab.bench.checks import check_memory
from redolab.bench.planning import crash_blocks, load_of
from redolab.crashes.wanted import crash_spec
from redolab.lab import Lab
from redolab.records.plan import CrashConditions, PlannedCrash, PlannedRecovery
from redolab.runs.plan import Plan, draw_plan
from redolab.storage.attaching import check_possible

from .cases import Case, cases
from .factors import Factors


class AnatomyRecovery(PlannedRecovery, frozen=True, kw_only=True):
    """A recovery with the factor and level of its case."""

    factor: str
    level: str


AnatomyPlan: TypeAlias = Plan[PlannedCrash, AnatomyRecovery, CrashConditions]


def plan(factors: Factors, lab: Lab) -> AnatomyPlan:
    """Return the plan; cases that differ only in the recovering server share crashes. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    crashes: list[tuple[PlannedCrash, list[AnatomyRecovery]]] = []
    for name in factors.server:
        server = lab.server(name)
        wanted = cases(factors.log_size, factors.varied(), server.dialect, factors.crash)
        check_memory([case.crash for case in wanted], [case.pool for case in wanted])
        start = wanted[0]
        of_baseline = [case for case in wanted if case.crash == start.crash]
        for number in range(1, factors.crashes + 1):
            spec = crash_spec(server, replace(start.crash, number=number))
            crashes.append((PlannedCrash(server=name, spec=spec), [_step(case, factors) for case in of_baseline]))
            for case in wanted:
                if case not in of_baseline:
                    spec = crash_spec(server, replace(case.crash, number=number))
                    crashes.append((PlannedCrash(server=name, spec=spec), [_step(case, factors)]))
    conditions = CrashConditions(storages=factors.profiles())
    return draw_plan(
        crash_blocks(crashes),
        repeat=factors.repeat,
        seed=factors.drawn_seed(),
        conditions=conditions,
        keep=factors.keep,
        together=load_of,
    )


def _step(case: Case, factors: Factors) -> AnatomyRecovery:
    return AnatomyRecovery(
        storage=factors.storage, pool=case.pool, settings=case.settings, factor=case.factor, level=case.level
    )
