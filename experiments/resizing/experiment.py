"""The experiment resizing: two sizes of the redo log, interleaved within one load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from redolab.runs.bench import Bench
from redolab.runs.experiment import Declaration, Noun
from redolab.runs.factors import CommonFactors
from redolab.runs.plan import Plan
from redolab.runs.schema import Rows
from redolab.runs.store import Run

if TYPE_CHECKING:
    from redolab.lab import Lab


class Resizing(Declaration):
    """Loads within which the redo log's size changes, block after block."""

    question = "What does a larger redo log gain by turns within one load, and what do clients meet while a running server gets it?"
    group_noun = Noun("load", "loads")
    step_noun = Noun("block", "blocks")

    @classmethod
    @override
    def factors(cls) -> type[CommonFactors]:
        from .factors import Factors

        return Factors

    @classmethod
    @override
    def plan_from(cls, factors: Any, lab: Lab) -> Plan[Any, Any, Any]:
        from .plan import plan

        return plan(factors, lab)

    @classmethod
    @override
    def plan_type(cls) -> Any:
        from redolab.records.turns import ResizingPlan

        return ResizingPlan

    @classmethod
    @override
    def bench(cls, lab: Lab, plan: Plan[Any, Any, Any]) -> Bench[Any, Any, Any, Any, Any]:
        from .bench import ResizingBench

        return ResizingBench(lab, plan)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        from .rows import rows

        return rows(run)
