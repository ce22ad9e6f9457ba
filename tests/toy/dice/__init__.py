"""How high do dice fall? An experiment of one file, in which nothing is crashed: what the frame does for any."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from redolab import errors
from redolab.lab import Lab
from redolab.machine import files
from redolab.report.contents import Plot, Report
from redolab.report.table import Column, ReportTable
from redolab.runs.bench import Bench, Measured
from redolab.runs.experiment import CheckCell, Experiment, Noun
from redolab.runs.factors import CommonFactors, factor, keep_factor, on_or_off, several, whole_number
from redolab.runs.plan import Plan, Planned, PlannedGroup, PlannedStep, draw_in_blocks, draw_plan
from redolab.runs.room import Needs
from redolab.runs.schema import Finding
from redolab.runs.store import Run

BROKEN_PLOT = "DICE_BROKEN_PLOT"


@dataclass(frozen=True, kw_only=True)
class Factors(CommonFactors):
    """What can be chosen."""

    sides: tuple[int, ...] = factor("Sides of the dice, with commas.", several(whole_number(2, 100)), "6")
    hand: tuple[str, ...] = factor("Hands, with commas.", several(str), "left,right")
    pause_ms: int = factor("What a throw takes.", whole_number(0, 10_000), "20")
    weight: int = factor("Bytes of memory of a die.", whole_number(0, 10**12), "0")
    mishaps: str = factor("A file that says what goes wrong, as long as it is there.", str, "")
    in_blocks: bool = factor("Whether each number of sides is a block.", on_or_off, "off")
    keep: bool = keep_factor()


class Die(PlannedGroup, frozen=True, kw_only=True):
    """A die that is carved once and thrown often."""

    sides: int


class Throw(PlannedStep, frozen=True, kw_only=True):
    """A throw."""

    hand: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all throws."""

    pause_ms: int
    weight: int
    mishaps: str = ""
    """A file with lines as `left-2 LabError` (the second throw of the left hand), `carve-6 DiskFull`, `release-6 LabError`."""


class Thrown(msgspec.Struct, frozen=True, kw_only=True):
    """What a throw came to."""

    sides: int
    hand: str
    eyes: int


DicePlan: TypeAlias = Plan[Die, Throw, Table]


class DiceBench(Bench[Die, Throw, Thrown]):
    """Carves dice, as files, and throws them."""

    def __init__(self, lab: Lab, plan: DicePlan) -> None:
        self._plan = plan
        self._box = lab.home / "dice"

    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        """See `Bench`."""
        return Needs(memory=self._plan.conditions.weight, disk={self._box: 1000 * len(missing)})

    def find(self, group: int, name: str | None) -> str | None:
        """See `Bench`."""
        wanted = name or f"die-{self._plan.groups[group].sides}"
        return wanted if self._die(wanted).exists() else None

    def make(self, group: int, run: Run) -> str:
        """See `Bench`."""
        sides = self._plan.groups[group].sides
        name = f"die-{sides}"
        self._mishap(f"carve-{sides}")
        files.write_whole(self._die(name), b"wood")
        return name

    def measure(
        self, position: int, planned: Planned[Throw], name: str, run: Run, keep: Callable[[Measured[Thrown]], None]
    ) -> None:
        """See `Bench`: a die of 13 sides is a finding."""
        assert self._die(name).exists()
        time.sleep(self._plan.conditions.pause_ms / 1000)
        sides = self._plan.groups[planned.group].sides
        files.write_whole(run.log(f"{position + 1:03}-throw"), b"rolling")
        self._mishap(planned.step.hand, f"{planned.step.hand}-{planned.repeat}")
        trial = Thrown(sides=sides, hand=planned.step.hand, eyes=random.Random(position).randint(1, sides))
        bad = [Finding(what="a die has 13 sides", evidence=("plan.json",))] if sides == 13 else []
        keep(Measured(trial, bad))

    def release(self, group: int, name: str) -> None:
        """See `Bench`."""
        self._mishap(f"release-{self._plan.groups[group].sides}")

    def remove(self, name: str, run: Run) -> None:
        """See `Bench`."""
        files.remove(self._die(name))

    def _mishap(self, *what: str) -> None:
        """Raises what is to go wrong."""
        said = Path(self._plan.conditions.mishaps)
        for line in said.read_text().splitlines() if said.is_file() else ():
            where, kind = line.split()
            if where in what and hasattr(errors, kind):
                raise getattr(errors, kind)("the die rolled away", "look under the table", ["it rolled", "and rolled"])
            if where in what:
                raise ZeroDivisionError(kind)

    def _die(self, name: str) -> Path:
        return self._box / name


def plan(factors: Factors, lab: Lab) -> DicePlan:
    """Every die, thrown by every hand."""
    throws = [Throw(hand=hand) for hand in factors.hand]
    dice = [(Die(sides=sides), throws) for sides in factors.sides]
    conditions = Table(pause_ms=factors.pause_ms, weight=factors.weight, mishaps=factors.mishaps)
    repeat, seed, keep = factors.repeat, factors.drawn_seed(), factors.keep
    if factors.in_blocks:
        return draw_in_blocks([[die] for die in dice], repeat=repeat, seed=seed, conditions=conditions, keep=keep)
    return draw_plan([dice], repeat=repeat, seed=seed, conditions=conditions, keep=keep)


def report(run: Run) -> Report:
    """One row a throw, and a plot that is broken when it is asked to be."""
    throws = [record.trial for record in run.trials(Thrown)]
    columns = [
        Column[Thrown]("sides", lambda throw: str(throw.sides)),
        Column[Thrown]("hand", lambda throw: throw.hand),
        Column[Thrown]("eyes", lambda throw: str(throw.eyes)),
    ]

    def draw(folder: Path) -> None:
        if os.environ.get(BROKEN_PLOT):
            raise ZeroDivisionError("no paint")
        files.write_whole(folder / "dice.svg", b"<svg/>")

    table = ReportTable.of("Throws", throws, columns, [])
    return Report(
        answer=f"{len(throws)} throws, {sum(throw.eyes for throw in throws) / len(throws):.1f} eyes on average",
        tables=[table],
        rows={"table": [msgspec.structs.asdict(throw) for throw in throws]},
        plots=[Plot("dice", draw)],
    )


EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=lambda: Factors,
    plan=plan,
    plan_type=lambda: DicePlan,
    bench=DiceBench,
    report=report,
    rows=lambda run: [(record, msgspec.structs.asdict(record.trial)) for record in run.trials(Thrown)],
    check=CheckCell(
        lambda asked: Factors(repeat=2, seed=1, hand=("left",), keep=asked.keep), "eyes", "eyes of a die of 6"
    ),
    group=Noun("die", "dice"),
    step=Noun("throw", "throws"),
)
