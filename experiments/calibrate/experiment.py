"""The experiment calibrate: a few small crashes, from which the recoveries of large logs here are predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from redolab.bench.crash_experiment import CrashExperiment
from redolab.runs.factors import CommonFactors
from redolab.runs.plan import Plan

if TYPE_CHECKING:
    from redolab.lab import Lab


class Calibrate(CrashExperiment):
    """Small crashes with long and with short redo records, each recovered in one and in more batches."""

    question = (
        "How long do recoveries take on this machine, after a few small crashes: what predicts the large ones here?"
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
