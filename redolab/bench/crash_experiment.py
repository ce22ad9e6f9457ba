"""Declaration of every experiment that crashes servers. This module imports nothing that starts a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from redolab.records.plan import CrashPlan
from redolab.results.rows import recovery_rows
from redolab.runs.experiment import Declaration, Noun
from redolab.runs.plan import Plan
from redolab.runs.schema import Rows
from redolab.runs.store import Run

if TYPE_CHECKING:
    from redolab.bench.crash_bench import CrashBench
    from redolab.lab import Lab


class CrashExperiment(Declaration):
    """An experiment whose groups are crashes, and whose steps are recoveries of copies of the crash images."""

    group_noun = Noun("crash", "crashes")
    step_noun = Noun("recovery", "recoveries")

    @classmethod
    @override
    def plan_type(cls) -> Any:
        return CrashPlan

    @classmethod
    @override
    def bench(cls, lab: Lab, plan: Plan[Any, Any, Any]) -> CrashBench:
        from redolab.bench.crash_bench import CrashBench

        return CrashBench(lab, plan)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        return recovery_rows(run)
