"""The experiment settings: settings changed one at a time under load, and at recovery."""

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


class Settings(CrashExperiment):
    """Loads and recoveries with one setting changed each."""

    question = "Which settings matter here, each changed alone?"
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
    def plan_type(cls) -> Any:
        from .planned import SettingsPlan

        return SettingsPlan

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        from .rows import settings_rows

        return settings_rows(run)
