"""The experiment slowlog-plugin: logging every statement, by the server and by the plugin without a lock."""

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


class SlowlogPlugin(Declaration):
    """Stretches of short statements under each way of logging."""

    question = "What does it cost to log every statement: by the server's own slow query log, or by a plugin that takes no lock?"
    group_noun = Noun("instance", "instances")
    step_noun = Noun("trial", "trials")

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
        from .bench import PluginPlan

        return PluginPlan

    @classmethod
    @override
    def bench(cls, lab: Lab, plan: Plan[Any, Any, Any]) -> Bench[Any, Any, Any, Any, Any]:
        from .bench import PluginBench

        return PluginBench(lab, plan)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        from .rows import rows

        return rows(run)
