"""Trials to cells, and cells to sentences: what removals did to writers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.report.labels import server_label
from redolab.servers.catalogue import server_catalogue
from redolab.units import format_size

from .trial import PurgeCell, PurgeTrial, Removal

_KEPT_UP = 0.95
MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class CellResult:
    """All removals of one cell; times in seconds."""

    cell: PurgeCell
    version: str
    trials: Sequence[PurgeTrial]

    @property
    def label(self) -> str:
        """The server, as in `MySQL 5.5.9`."""
        return server_label(self.cell.server, self.version)

    @property
    def in_words(self) -> str:
        """As in `MySQL 5.5.9, 2 files of 1G, ext4 of native, purge`."""
        cell = self.cell
        return f"{self.label}, {cell.files_in_words}, {cell.file_system} of {cell.storage}, {_IN_WORDS[cell.removal]}"

    @property
    def removal_s(self) -> float:
        """How long the removal took, in the median."""
        return statistics.median(trial.removal.seconds for trial in self.trials)

    @property
    def waits_without(self) -> list[float]:
        """The longest wait of a statement in each stretch without a removal."""
        return [trial.quiet.longest_wait_s for trial in self.trials]

    @property
    def waits_with(self) -> list[float]:
        """The longest wait of a statement in each stretch with a removal."""
        return [trial.removing.longest_wait_s for trial in self.trials]

    @property
    def wait_without(self) -> float:
        """The median of these without a removal."""
        return statistics.median(self.waits_without)

    @property
    def wait_with(self) -> float:
        """The median of these with a removal."""
        return statistics.median(self.waits_with)

    @property
    def many_without(self) -> float:
        """Statements that waited over 100 ms in a stretch without a removal, in the mean."""
        return statistics.mean(trial.quiet.waits_over_100ms for trial in self.trials)

    @property
    def many_with(self) -> float:
        """Statements that waited over 100 ms in a stretch with a removal, in the mean."""
        return statistics.mean(trial.removing.waits_over_100ms for trial in self.trials)

    @property
    def gap_without(self) -> float:
        """The longest time without a commit before a removal, in the median."""
        return statistics.median(trial.quiet.longest_without_commit_s for trial in self.trials)

    @property
    def gap_with(self) -> float:
        """The longest time without a commit that has a part of the removal in it, in the median."""
        return statistics.median(trial.removal.longest_without_commit_s for trial in self.trials)

    @property
    def commits(self) -> int:
        """Acknowledged while files were removed, by all removals together."""
        return sum(trial.removal.commits for trial in self.trials)

    @property
    def usual_commits(self) -> float:
        """As many as were made before the removals, in as long as these took together."""
        return sum(trial.usual_commits for trial in self.trials)

    @property
    def long_enough(self) -> int:
        """Removals that took long enough to show whether writers stand still."""
        return sum(trial.is_long_enough for trial in self.trials)

    @property
    def stood_still(self) -> int:
        """Removals, of these, during which writers stood still."""
        return sum(trial.stood_still for trial in self.trials)

    @property
    def slow_seconds(self) -> float:
        """Seconds with less than half of the usual commits, in the mean."""
        return statistics.mean(trial.slow_seconds for trial in self.trials)

    @property
    def extents(self) -> float | None:
        """Of one file, in the median; None where the machine did not say."""
        found = [each for trial in self.trials for each in trial.files.extents or ()]
        return statistics.median(found) if found else None

    @property
    def kept_up(self) -> bool:
        """Whether the server kept up with its clients before the removals: else their waits are those of a queue."""
        return statistics.median(trial.kept_up for trial in self.trials) >= _KEPT_UP


_IN_WORDS = {Removal.PURGE: "by PURGE", Removal.ROTATION: "at a rotation"}


def results(trials: Sequence[PurgeTrial]) -> list[CellResult]:
    """A result for each cell: servers in the order of the catalogue, within each the largest files first."""
    cells: dict[tuple[PurgeCell, str], list[PurgeTrial]] = {}
    for trial in trials:
        cells.setdefault((trial.cell, trial.version), []).append(trial)
    found = [CellResult(cell, version, of_it) for (cell, version), of_it in cells.items()]
    known = server_catalogue().names()
    servers = sorted(
        {(each.cell.server, each.version) for each in found},
        key=lambda server: (known.index(server[0]) if server[0] in known else len(known), server),
    )
    return sorted(
        found,
        key=lambda each: (
            servers.index((each.cell.server, each.version)),
            each.cell.storage,
            each.cell.file_system,
            each.cell.removal,
            -each.cell.file_size,
        ),
    )


def answer(found: Sequence[CellResult]) -> str:
    """The longest time without a commit, whether writers stood still, and the longest wait with each size of file."""
    if not found:
        return "Nothing was measured."
    trials = [trial for each in found for trial in each.trials]
    longest = max(trial.removal.longest_without_commit_s for trial in trials)
    before = max(trial.quiet.longest_without_commit_s for trial in trials)
    waits = "; ".join(_of_size(found, size) for size in sizes(found))
    statements = sum(trial.removing.statements for trial in trials)
    late, late_before = (
        sum(stretch.waits_over_100ms for stretch in stretches)
        for stretches in ([trial.removing for trial in trials], [trial.quiet for trial in trials])
    )
    return (
        f"In {len(trials)} removals of binary logs no time without a commit was longer than {milliseconds(longest)} "
        f"({milliseconds(before)} before one). While files were removed, clients {committed(found)}. The longest wait of a "
        f"statement was {waits} (medians). Over 100 ms waited {late} of {statements:,} statements with a removal, {late_before} "
        "before one."
    )


def committed(found: Sequence[CellResult]) -> str:
    """As in `committed 41 transactions (43 in as long before), and stood still during none of the 12 removals that could show it`."""
    commits, usual = sum(each.commits for each in found), sum(each.usual_commits for each in found)
    count, shown = sum(len(each.trials) for each in found), sum(each.long_enough for each in found)
    still = sum(each.stood_still for each in found)
    said = f"committed {commits:,} transactions ({usual:,.0f} in as long before)"
    if not shown:
        return f"{said}; none of the {count} removals took long enough to show whether they stood still"
    beside = f", of {count}," if count > shown else ""
    return f"{said}, and stood still during {still or 'none'} of the {shown} removals{beside} that took long enough to show it"


def sizes(found: Sequence[CellResult]) -> list[int]:
    """The sizes of files, the largest first."""
    return sorted({each.cell.file_size for each in found}, reverse=True)


def milliseconds(seconds: float) -> str:
    """As in `3.4 ms`, `120 ms`."""
    value = MILLISECONDS * seconds
    return f"{value:.1f} ms" if value < 10 else f"{value:,.0f} ms"


def _of_size(found: Sequence[CellResult], size: int) -> str:
    of_size = [each for each in found if each.cell.file_size == size]
    worst = max(of_size, key=lambda each: each.wait_with)
    return (
        f"up to {milliseconds(worst.wait_with)} with files of {format_size(size)} ({worst.label} on {worst.cell.storage}), where it "
        f"was {milliseconds(worst.wait_without)} before"
    )
