"""Trials of a run, each with its group and step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic

import msgspec.inspect

from redolab.report.quantities import quantities_of
from redolab.runs.bench import G, S, T
from redolab.runs.machines import machines_of
from redolab.runs.schema import Trial, TrialRecord
from redolab.runs.store import Run

if TYPE_CHECKING:
    from redolab.runs.experiment import Experiment

_FLAT = (
    msgspec.inspect.BoolType,
    msgspec.inspect.EnumType,
    msgspec.inspect.FloatType,
    msgspec.inspect.IntType,
    msgspec.inspect.NoneType,
    msgspec.inspect.StrType,
)


@dataclass(frozen=True, slots=True)
class Result(Generic[G, S, T]):
    """A trial, and its group and step."""

    group: G
    step: S
    repeat: int
    """Number of the trial in its configuration, from 1."""
    block: str
    """Name of the run and number of the block or repeat: configurations are compared within it."""
    trial: T
    machine: str
    """Name of the machine in the tables of its run."""
    record: TrialRecord[T]


def results_of(runs: Sequence[Run], experiment: type[Experiment[G, S, Any, Any, T]]) -> Sequence[Result[G, S, T]]:
    """Return the trials of runs that count, in the order of measurement. Raises `LabError`."""
    machines = machines_of(runs)
    results = []
    for run in runs:
        plan = run.plan(experiment.plan_type)
        for record in run.trials(experiment.trial_type):
            planned = plan.steps[record.position]
            repeat = plan.blocks[record.group] if experiment.repeats_groups and plan.blocks else planned.repeat
            results.append(
                Result(
                    group=plan.groups[record.group],
                    step=planned.step,
                    repeat=repeat,
                    block=f"{run.name} {repeat}",
                    trial=record.trial,
                    machine=machines[run.name][record.session],
                    record=record,
                )
            )
    return results


def rows_of(results: Sequence[Result[Any, Any, Any]]) -> Sequence[Mapping[str, object]]:
    """Return trials as rows: group, step, repeat, and the trial's quantities and fields that a cell can hold."""
    if not results:
        return []
    kind = type(results[0].trial)
    names = dict.fromkeys([*_flat_fields(kind), *quantities_of(kind)])
    return [
        {
            **{
                name: _plain(getattr(part, name)) for part in (each.group, each.step) for name in part.__struct_fields__
            },
            "repeat": each.repeat,
            **{name: _plain(getattr(each.trial, name)) for name in names},
            **(each.trial.details() if isinstance(each.trial, Trial) else {}),
        }
        for each in results
    ]


def _flat_fields(kind: type[msgspec.Struct]) -> Sequence[str]:
    described = msgspec.inspect.type_info(kind)
    assert isinstance(described, msgspec.inspect.StructType)
    return [
        each.name
        for each in described.fields
        if all(isinstance(one, _FLAT) for one in getattr(each.type, "types", (each.type,)))
    ]


def _plain(value: object) -> object:
    """Return a value for a frame; None for an empty text."""
    if value == "":
        return None
    return str(value) if isinstance(value, StrEnum) else value
