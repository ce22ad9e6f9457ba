"""The experiment throughput: loads with redo logs of several sizes, each ended by a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from redolab.bench.crash_experiment import CrashExperiment
from redolab.runs.experiment import Noun
from redolab.runs.factors import CommonFactors
from redolab.runs.plan import Plan
from redolab.runs.schema import Rows
from redolab.runs.store import Run

if TYPE_CHECKING:
    from redolab.lab import Lab


class Throughput(CrashExperiment):
    """Loads with redo logs of several sizes, and the recoveries of the crashes that end them."""

    question = "What throughput does a larger redo log gain, and what does it cost in recovery?"
    group_noun = Noun("load", "loads")
    step_noun = Noun("recovery", "recoveries")

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
    def rows(cls, run: Run) -> Rows:
        from redolab.results.rows import load_rows

        return load_rows(run)
