"""Declaration of every experiment that crashes servers. This module imports nothing that starts a server."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from typing_extensions import override

from redolab.crash.bench.crash_plan import CrashConditions, PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import CrashFactors
from redolab.results.rows import recovery_rows
from redolab.runs.experiment import Declaration, Noun, types_in_brackets
from redolab.runs.plan import Plan, plan_type
from redolab.runs.schema import Rows
from redolab.runs.store import Run

if TYPE_CHECKING:
    from redolab.crash.bench.crash_bench import CrashBench
    from redolab.lab import Lab

F = TypeVar("F", bound=CrashFactors)
G = TypeVar("G", bound=PlannedCrash)
S = TypeVar("S", bound=PlannedRecovery)


class CrashExperiment(Declaration, Generic[F, G, S]):
    """An experiment whose groups are crashes, and whose steps are recoveries of copies of the crash images.

    `class Survey(CrashExperiment[Factors, PlannedCrash, PlannedRecovery])` declares its factors, and what its plan has.
    A subclass must write `draw`.
    """

    group_noun = Noun("crash", "crashes")
    step_noun = Noun("recovery", "recoveries")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if types := types_in_brackets(cls, CrashExperiment):
            cls.factors_type, group, step = types
            cls.plan_type = plan_type(group, step, CrashConditions)

    @classmethod
    @override
    def plan_from(cls, factors: F, lab: Lab) -> Plan[G, S, CrashConditions]:
        from redolab.disks.attaching import check_possible

        factors.check()
        check_possible(factors.profiles())
        return cls.draw(factors, lab)

    @classmethod
    @abstractmethod
    def draw(cls, factors: F, lab: Lab) -> Plan[G, S, CrashConditions]:
        """Draw the plan of these factors, which were checked, and whose storages this machine has. Raises `LabError`."""

    @classmethod
    @override
    def bench(cls, lab: Lab, plan: Plan[Any, Any, Any]) -> CrashBench:
        from redolab.crash.bench.crash_bench import CrashBench

        return CrashBench(lab, plan)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        return recovery_rows(run)
