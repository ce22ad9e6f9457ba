"""The experiment durability: power cuts of a recorded load, each state recovered and held against the clients' ledger."""

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


class Durability(Declaration):
    """Recordings of a load, and the states that power cuts of it could have left."""

    question = "What does a power cut lose of what was acknowledged, with which settings?"
    group_noun = Noun("recording", "recordings")
    step_noun = Noun("batch of states", "batches of states")

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
        from .planned import DurabilityPlan

        return DurabilityPlan

    @classmethod
    @override
    def bench(cls, lab: Lab, plan: Plan[Any, Any, Any]) -> Bench[Any, Any, Any, Any, Any]:
        from .bench import DurabilityBench

        return DurabilityBench(lab, plan)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        from .trial import rows

        return rows(run)
