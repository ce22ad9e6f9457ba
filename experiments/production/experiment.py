"""The experiment production: crashes at random times of a load under production settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from redolab.bench.crash_experiment import CrashExperiment
from redolab.runs.factors import CommonFactors
from redolab.runs.plan import Plan

if TYPE_CHECKING:
    from redolab.lab import Lab


class Production(CrashExperiment):
    """Crashes at random times of a load, each recovered as production would."""

    question = "How long do recoveries take after crashes at random moments of a load under the settings of production?"

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
