"""An experiment in which nothing is crashed: what the frame does for any."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from matplotlib.figure import Figure
from typing_extensions import override

from redolab import errors
from redolab.lab import Lab
from redolab.machine import files
from redolab.report.contents import Plot, Report
from redolab.report.quantities import Quantity
from redolab.runs.bench import GroupContext, KeepsProducts, StepContext
from redolab.runs.experiment import CheckCell, Experiment, Noun
from redolab.runs.factors import whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import Plan, PlannedGroup, PlannedStep, draw_in_blocks
from redolab.runs.schema import Finding, Trial
from redolab.runs.store import Run

BROKEN_PLOT = "DICE_BROKEN_PLOT"


class Die(PlannedGroup, frozen=True, kw_only=True):
    """A die that is carved once and thrown often."""

    sides: Annotated[int, Option("Sides of the dice, with commas.", whole_number(2, 100), "6")]


class Throw(PlannedStep, frozen=True, kw_only=True):
    """A throw."""

    hand: Annotated[str, Option("Hands, with commas.", str, "left,right")]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all throws."""

    pause_ms: Annotated[int, Option("Milliseconds that a throw takes.", whole_number(0, 10_000), "20")]
    weight: Annotated[int, Option("Bytes of memory of a die.", whole_number(0, 10**12), "0")]
    in_blocks: Annotated[bool, Option("Whether each number of sides is a block.", None, "off")]
    mishaps: Annotated[str, Option("A file that says what goes wrong, as long as it is there.", str, "")]
    """Its lines are as `left-2 LabError` (the second throw of the left hand), `carve-6 DiskFull`, `release-6 LabError`."""


class Thrown(Trial, frozen=True, kw_only=True):
    """A throw that was made."""

    eyes: Annotated[int, Quantity("eyes", places=1)]


class Dice(Experiment[Die, Throw, Table, Path, Thrown], KeepsProducts):
    """Dice are carved, as files, and thrown."""

    question = "How high do dice fall?"
    group_noun = Noun("die", "dice")
    step_noun = Noun("throw", "throws")
    check_cell = CheckCell(
        lambda asked: type(asked)(repeat=2, seed=1, hand=("left",), keep=asked.keep, beside_others=asked.beside_others),
        "eyes",
        "eyes of a die of 6",
    )

    @classmethod
    @override
    def plan_from(cls, factors: Any, lab: Lab) -> Plan[Die, Throw, Table]:
        if not factors.in_blocks:
            return super().plan_from(factors, lab)
        blocks = [[die] for die in cls.cells(factors).items()]
        conditions, seed = cls.conditions_from(factors), factors.drawn_seed()
        return draw_in_blocks(blocks, repeat=factors.repeat, seed=seed, conditions=conditions, keep=factors.keep)

    @classmethod
    @override
    def report(cls, run: Run) -> Report:
        return replace(super().report(run), plots=[Plot("dice", _draw)])

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        return Needs(memory=self.conditions.weight, disk={self.lab.home / "dice": 1000 * len(missing)})

    @override
    def find(self, group: int, name: str | None) -> str | None:
        wanted = name or f"die-{self.plan.groups[group].sides}"
        return wanted if self._die(wanted).exists() else None

    @override
    def make(self, group: int, run: Run) -> str:
        name = f"die-{self.plan.groups[group].sides}"
        self._mishap(name.replace("die", "carve"))
        files.write_whole(self._die(name), b"wood")
        return name

    @override
    def remove(self, name: str, run: Run) -> None:
        files.remove(self._die(name))

    @contextmanager
    @override
    def group(self, group: Die, at: GroupContext) -> Iterator[Path]:
        """While in it: a die lies on the table."""
        yield self._die(at.product)
        self._mishap(f"release-{group.sides}")

    @override
    def measure(self, group: Die, step: Throw, made: Path, at: StepContext[Thrown]) -> Thrown:
        assert made.exists()
        time.sleep(self.conditions.pause_ms / 1000)
        files.write_whole(at.run.log(f"{at.position + 1:03}-throw"), b"rolling")
        self._mishap(step.hand, f"{step.hand}-{at.repeat}")
        return Thrown(eyes=random.Random(at.position).randint(1, group.sides))

    @override
    def findings(self, group: Die, step: Throw, trial: Thrown) -> Sequence[Finding]:
        return [Finding(what="a die has 13 sides", evidence=("plan.json",))] if group.sides == 13 else []

    def _mishap(self, *what: str) -> None:
        """Raise what is to go wrong."""
        said = Path(self.conditions.mishaps)
        for line in said.read_text().splitlines() if said.is_file() else ():
            where, kind = line.split()
            if where in what and hasattr(errors, kind):
                raise getattr(errors, kind)("the die rolled away", "look under the table", ["it rolled", "and rolled"])
            if where in what:
                raise ZeroDivisionError(kind)

    def _die(self, name: str) -> Path:
        return self.lab.home / "dice" / name


def _draw() -> Figure:
    if os.environ.get(BROKEN_PLOT):
        raise ZeroDivisionError("no paint")
    return Figure()
