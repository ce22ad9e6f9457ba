"""The experiment anatomy: one baseline crash, and everything that could matter changed one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from redolab.bench.crash_experiment import CrashExperiment
from redolab.runs.factors import CommonFactors
from redolab.runs.plan import Plan

if TYPE_CHECKING:
    from redolab.lab import Lab


class Anatomy(CrashExperiment):
    """Crashes that differ from one baseline in one thing each."""

    question = (
        "What decides how long a recovery takes: one baseline, and everything that could matter changed one at a time."
    )

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
        from .plan import AnatomyPlan

        return AnatomyPlan
