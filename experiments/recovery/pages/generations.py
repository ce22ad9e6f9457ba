"""The page of all servers: each with the same redo of two loads, and each with a full log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.records.crash import filled_to
from redolab.records.plan import CrashPlan
from redolab.records.recovery import Outcome
from redolab.report.contents import Page
from redolab.report.labels import server_label
from redolab.report.template import filled
from redolab.results.alike import keyed_recoveries
from redolab.results.committed import FOURTH_MACHINE, THIRD_MACHINE
from redolab.results.crashes import crashes_of
from redolab.runs.confounded import confounded_with_time
from redolab.runs.store import Run
from redolab.units import MIB, format_size

from ..rows import RecoveryRow
from .tables import OnPage, of_recoveries

_TEMPLATE = Path(__file__).with_suffix(".md")
RUNS = ["generations", THIRD_MACHINE, FOURTH_MACHINE]
"""Folders under data/measured whose runs the page is made from."""
_SAME, _SHORT, _FULL = ("bulk-update", True), ("oltp_write_only", True), ("bulk-update", False)
"""Workload, and whether every server was killed at the same age."""
_SEVERAL = 5
"""Servers: runs of fewer are for other pages."""


def page(runs: Sequence[Run]) -> Page:
    """The page of three runs of all servers: killed at the same age under two loads, and with every log filled up."""
    same, short, full = (_undisturbed(_of_kind(runs, *kind)[-1]) for kind in (_SAME, _SHORT, _FULL))
    redo = [row.redo_from_last_sample_bytes or 0 for row in full.rows]
    times = {row.server: row.ready_median_s for row in same.rows}
    longer = sorted(
        ((row.ready_median_s / base, row) for row in short.rows if row.ready_median_s and (base := times[row.server])),
        key=lambda entry: entry[0],
    )
    values = {
        "same": same,
        "short": short,
        "full": full,
        "elsewhere": _undisturbed(_of_kind(runs, *_SHORT)[-2]),
        "of_elsewhere": _shares(_undisturbed(_of_kind(runs, *_SHORT)[-2]), short),
        "filled_to": filled_to(crashes_of(_of_kind(runs, *_FULL)[-1])),
        "fastest": _row_in_words(_by_time(same)[0]),
        "slowest": _row_in_words(_by_time(same)[-1]),
        "apart": _apart(same),
        "fastest_short": _row_in_words(_by_time(short)[0]),
        "slowest_short": _row_in_words(_by_time(short)[-1]),
        "apart_short": _apart(short),
        "scanned": [
            f"{row.redo_from_recovery_bytes / row.scan_s / MIB:.0f}M a second in {_name(row)}"
            for row in sorted(short.rows, key=lambda row: row.scan_s or 0.0, reverse=True)
            if row.scan_s and row.redo_from_recovery_bytes
        ],
        "least_longer": (longer[0][0], _name(longer[0][1])),
        "most_longer": (longer[-1][0], _name(longer[-1][1])),
        "least_redo": format_size(min(redo)),
        "most_redo": format_size(max(redo)),
        "stuck": "; ".join(
            f"{number} of {row.n + sum(row.bad.values())} recoveries of {_name(row)}"
            for row in short.rows
            if (number := row.bad.get(Outcome.STUCK, 0))
        ),
        "confounded": confounded_with_time(
            [_of_kind(runs, *_FULL)[-1]], CrashPlan, {"the servers of the last table": lambda crash: crash.server}
        ),
        "worst_spread": max(_spread(row) for shown in (same, short, full) for row in shown.rows),
    }
    title = f"The same redo of short transactions: ready after {values['fastest_short']} to {values['slowest_short']}"
    return Page(filled(_TEMPLATE, values), [short.phases("short", title)])


def _of_kind(runs: Sequence[Run], workload: str, is_killed_at: bool) -> list[Run]:
    """Return the runs of all servers with that load, killed at an age of choice or with the log full; the last measured last."""
    return sorted(
        (
            run
            for run in runs
            if run.record().options.get("workload") == workload
            and ("kill_at" in run.record().options) == is_killed_at
            and len(run.record().options["server"].split(",")) > _SEVERAL
        ),
        key=lambda run: run.name,
    )


def _shares(shown: OnPage, of: OnPage) -> list[float]:
    """Return each server's median recovery time in the first as a share of that in the second, the smallest first."""
    others = {row.server: row.ready_median_s for row in of.rows}
    return sorted(
        row.ready_median_s / base for row in shown.rows if row.ready_median_s and (base := others.get(row.server))
    )


def _undisturbed(run: Run) -> OnPage:
    """What the page shows of a run, without recoveries during which other programs used the processors."""
    return of_recoveries([run], [each for each in keyed_recoveries([run]) if not each.trial.is_disturbed])


def _by_time(shown: OnPage) -> list[RecoveryRow]:
    return sorted(
        (row for row in shown.rows if row.ready_median_s is not None), key=lambda row: row.ready_median_s or 0.0
    )


def _apart(shown: OnPage) -> float:
    """How many times as long as the fastest server the slowest takes."""
    first, *_, last = _by_time(shown)
    return (last.ready_median_s or 0.0) / (first.ready_median_s or 1.0)


def _row_in_words(row: RecoveryRow) -> str:
    return f"{row.ready_median_s:.1f} s ({_name(row)})"


def _name(row: RecoveryRow) -> str:
    return server_label(row.server, row.version)


def _spread(row: RecoveryRow) -> float:
    """From the shortest to the longest recovery of a row, as a share of the median."""
    if not row.ready_median_s or row.ready_min_s is None or row.ready_max_s is None:
        return 0.0
    return (row.ready_max_s - row.ready_min_s) / row.ready_median_s
