"""Declaration of an experiment: a question, its factors, and the measurement of a step (docs/experiments.md)."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args, get_origin

from typing_extensions import override

from redolab.report.contents import Report
from redolab.runs.bench import Bench, C, G, KeepsProducts, M, S, T
from redolab.runs.factors import CommonFactors
from redolab.runs.plan import Plan, draw_in_blocks, draw_plan, plan_as_given, plan_type
from redolab.runs.planned_cells import cells_of, conditions_of, crossed, factors_from
from redolab.runs.schema import Rows
from redolab.runs.store import Run
from redolab.runs.trial_results import Result, results_of, rows_of

if TYPE_CHECKING:
    from redolab.lab import Lab


@dataclass(frozen=True, slots=True)
class Noun:
    """Singular and plural of a noun."""

    one: str
    several: str

    def of(self, count: int) -> str:
        """Return a count with the noun, as in `3 recoveries`."""
        return f"{count} {self.one if count == 1 else self.several}"


@dataclass(frozen=True, slots=True)
class CheckCell:
    """A small configuration that is measured in the same way on every machine of a cluster, to compare the machines."""

    factors: Callable[[Any], CommonFactors]
    """Function from the run's factors to the factors of the check."""
    column: str
    """Column of the experiment's rows that is compared."""
    name: str
    """Name of that column in words, with its unit."""


class Declaration(ABC):
    """A question: how it is planned, carried out and read. It starts no server by itself.

    It is never instantiated. Reading runs imports its module, so modules that start servers are imported inside its
    functions.
    """

    question: ClassVar[str]
    group_noun: ClassVar[Noun] = Noun("group", "groups")
    step_noun: ClassVar[Noun] = Noun("step", "steps")
    check_cell: ClassVar[CheckCell | None] = None
    """Check of the machines; None if its groups cannot be measured on several machines."""
    factors_type: ClassVar[type[CommonFactors]]
    """Class of its factors: the options of its command."""
    plan_type: ClassVar[Any]
    """`Plan[group, step, conditions]` with its own types, to read a stored plan."""

    @classmethod
    @abstractmethod
    def plan_from(cls, factors: Any, lab: Lab) -> Plan[Any, Any, Any]:
        """Draw the plan of these factors. Raises `InvalidInput` for factors that make no sense."""

    @classmethod
    @abstractmethod
    def bench(cls, lab: Lab, plan: Plan[Any, Any, Any]) -> Bench[Any, Any, Any, Any, Any]:
        """Return the bench that carries out a plan."""

    @classmethod
    @abstractmethod
    def rows(cls, run: Run) -> Rows:
        """Return the trials of a run, each with its columns in `redolab.load_runs`. Raises `LabError`."""

    @classmethod
    def report(cls, run: Run) -> Report:
        """Return the answer, tables and plots of a run, by `report.py` beside the experiment. Raises `LabError`."""
        module = cls._report_module()
        assert module is not None
        report: Report = importlib.import_module(module).report(run)
        return report

    @classmethod
    def _report_module(cls) -> str | None:
        """Return the name of the module `report.py` in the experiment's folder; None without one."""
        package, _, file = cls.__module__.rpartition(".")
        name = f"{package}.report"
        return name if file == "experiment" and importlib.util.find_spec(name) is not None else None


def types_in_brackets(experiment: type, base: type) -> tuple[Any, ...]:
    """Return the types with which a class derives from a generic base, or from a generic class below it; else none."""
    bases = experiment.__dict__.get("__orig_bases__", ())
    return next((get_args(each) for each in bases if issubclass(get_origin(each) or object, base)), ())


class Experiment(Declaration, Bench[G, S, C, M, T]):
    """An experiment in one class: `class Stalls(Experiment[Group, Step, Conditions, "Instance", Trial])`.

    The fields of group, step and conditions carry an `Option` each; those of the trial a `Quantity`. The command's
    options, the plan, rows, table and plot derive from them. A subclass must write `group` and `measure`.
    """

    repeat: ClassVar[str | None] = "3"
    """Number of times each configuration is measured, unless REPEAT sets it; None: once, and REPEAT is no factor."""
    repeats_groups: ClassVar[bool] = False
    """True if each repeat is a block with every group once; otherwise a group's steps are repeated in it."""
    in_given_order: ClassVar[bool] = False
    """True if `cells` returns every group and step, repeats among them, in the order in which they are measured."""
    group_type: ClassVar[type[Any]]
    step_type: ClassVar[type[Any]]
    conditions_type: ClassVar[type[Any]]
    trial_type: ClassVar[type[Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        types = types_in_brackets(cls, Experiment)
        if any(isinstance(each, TypeVar) for each in types):
            # A base of experiments, which is none itself.
            return
        if types:
            group, step, conditions, _, trial = types
            cls.group_type, cls.step_type, cls.conditions_type, cls.trial_type = group, step, conditions, trial
            cls.plan_type = plan_type(group, step, conditions)
        planned = cls.group_type, cls.step_type, cls.conditions_type
        cls.factors_type = factors_from(cls.__name__, planned, cls.repeat, keeps=issubclass(cls, KeepsProducts))

    @classmethod
    def exists(cls, group: G, step: S) -> bool:
        """Return False for a combination of factors that does not exist, such as a method that a server lacks."""
        return True

    @classmethod
    def refuse(cls, group: G, step: S, conditions: C) -> None:
        """Raise `InvalidInput` for a requested combination that cannot be measured."""

    @classmethod
    def combinations(cls, values: Mapping[str, Sequence[Any]], conditions: C) -> Sequence[Mapping[str, Any]]:
        """Return the combinations of the factors' values to measure: all."""
        return crossed(values)

    @classmethod
    def conditions_from(cls, factors: CommonFactors) -> C:
        """Return the conditions of the whole run."""
        conditions: C = conditions_of(cls.conditions_type, factors)
        return conditions

    @classmethod
    def cells(cls, factors: CommonFactors) -> Mapping[G, Sequence[S]]:
        """Return group → its steps for these factors, in the factors' order. Raises `InvalidInput`."""
        return cells_of(cls, factors)

    @classmethod
    @override
    def plan_from(cls, factors: Any, lab: Lab) -> Plan[G, S, C]:
        conditions, seed = cls.conditions_from(factors), factors.drawn_seed()
        groups = list(cls.cells(factors).items())
        if cls.in_given_order:
            return plan_as_given(groups, seed=seed, conditions=conditions)
        if cls.repeats_groups:
            blocks = [groups] * factors.repeat
            return draw_in_blocks(blocks, repeat=1, seed=seed, conditions=conditions, keep=False)
        repeat, keep = getattr(factors, "repeat", 1), getattr(factors, "keep", False)
        return draw_plan([groups], repeat=repeat, seed=seed, conditions=conditions, keep=keep)

    @classmethod
    @override
    def bench(cls, lab: Lab, plan: Plan[Any, Any, Any]) -> Bench[G, S, C, M, T]:
        return cls(lab, plan)

    @classmethod
    def results(cls, *runs: Run) -> Sequence[Result[G, S, T]]:
        """Return the trials of runs that count, each with its group and step. Raises `LabError`."""
        return results_of(runs, cls)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        results = cls.results(run)
        return [(each.record, row) for each, row in zip(results, rows_of(results), strict=True)]

    @classmethod
    @override
    def report(cls, run: Run) -> Report:
        """Return the report of `report.py`, or a table of all configurations and a plot of the first quantity."""
        from redolab.runs.default_report import default_report

        return default_report(cls, run) if cls._report_module() is None else super().report(run)
