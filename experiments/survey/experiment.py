"""The experiment survey: crashes and recoveries under conditions drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from redolab.bench.crash_experiment import CrashExperiment
from redolab.runs.factors import CommonFactors
from redolab.runs.plan import Plan

if TYPE_CHECKING:
    from redolab.lab import Lab


class Survey(CrashExperiment):
    """Crashes under conditions drawn at random, each recovered with pools drawn for it."""

    question = (
        "How long do recoveries take under conditions drawn at random from all that can be: tables, age, buffer pools?"
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
