"""The experiment recovery: crashes with chosen redo log sizes, recovered on every storage with every buffer pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from redolab.bench.crash_experiment import CrashExperiment
from redolab.runs.experiment import CheckCell
from redolab.runs.factors import CommonFactors
from redolab.runs.plan import Plan

if TYPE_CHECKING:
    from redolab.lab import Lab


def _check(asked: Any) -> CommonFactors:
    from .check import check

    return check(asked)


class Recovery(CrashExperiment):
    """Crashes, and recoveries of copies of their images."""

    question = "How long does crash recovery take with a redo log of this size, on each storage, with each buffer pool?"

    check_cell = CheckCell(_check, "ready_s", "s to ready with a log of 64M")

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
