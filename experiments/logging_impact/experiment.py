"""The experiment logging-impact: one load under every kind of query log."""

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


class LoggingImpact(Declaration):
    """Loads under one query log after the other, in blocks."""

    question = "What does logging queries cost in throughput and latency, log by log?"
    group_noun = Noun("instance", "instances")
    step_noun = Noun("load", "loads")

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
        from .planned import LoggingPlan

        return LoggingPlan

    @classmethod
    @override
    def bench(cls, lab: Lab, plan: Plan[Any, Any, Any]) -> Bench[Any, Any, Any, Any, Any]:
        from .bench import LoggingBench

        return LoggingBench(lab, plan)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        from .rows import rows

        return rows(run)
