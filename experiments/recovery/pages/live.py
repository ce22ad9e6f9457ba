"""Recoveries beside which `redolab follow` ran, a line a second: how far off it was where a user would have read it."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.report.table import Column, ReportTable

MARKS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Said:
    """What it said at one moment, in seconds."""

    at: float
    """Since the server's start."""
    left: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LiveRecovery:
    """A recovery that was followed while it ran."""

    server: str
    ready: float
    """Seconds from the server's start."""
    said: Sequence[Said]

    def at(self, mark: float) -> Said | None:
        """What was said first once that share of its time had passed; None where nothing was."""
        return next((each for each in self.said if each.at >= mark * self.ready), None)

    def off(self, said: Said) -> float:
        """Expected less true end, as a share of the whole time."""
        return (said.at + said.left - self.ready) / self.ready


def read_live(file: Path) -> list[LiveRecovery]:
    """The recoveries in a CSV file with a row for each moment: `recovery` names one, times are in seconds."""
    rows = list(csv.DictReader(file.read_text().splitlines()))
    found = []
    for name in dict.fromkeys(row["recovery"] for row in rows):
        own = [row for row in rows if row["recovery"] == name]
        said = [
            Said(float(row["at_s"]), float(row["left_s"]), float(row["left_low_s"]), float(row["left_high_s"]))
            for row in own
        ]
        found.append(LiveRecovery(own[0]["server"], float(own[0]["ready_s"]), said))
    return found


def live_table(recoveries: Sequence[LiveRecovery]) -> ReportTable:
    """How far off it was at each mark."""
    asked = {mark: [(each, said) for each in recoveries if (said := each.at(mark)) is not None] for mark in MARKS}

    def inside(mark: float) -> str:
        held = [said.low <= each.ready - said.at <= said.high for each, said in asked[mark]]
        return f"{sum(held)} of {len(held)}"

    def off(mark: float) -> list[float]:
        return [abs(each.off(said)) for each, said in asked[mark]]

    columns = [
        Column[float]("of its time", lambda mark: f"{mark:.0%}"),
        Column[float]("recoveries", lambda mark: str(len(asked[mark])), right=True),
        Column[float]("off: median", lambda mark: f"{statistics.median(off(mark)):.0%}", right=True),
        Column[float]("most", lambda mark: f"{max(off(mark)):.0%}", right=True),
        Column[float]("inside the 80 %", inside, right=True),
    ]
    return ReportTable.of("Followed live", MARKS, columns, [])
