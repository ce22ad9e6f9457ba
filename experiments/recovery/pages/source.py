"""The page of the published crash, done again: TPC-C for half an hour or to the same share of the log, and recovered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.records.dataset import DatasetSpec
from redolab.report.contents import Page
from redolab.report.labels import server_label
from redolab.report.template import filled
from redolab.results.crashes import crashes_of
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.sizing.published import published_beside_ours
from redolab.units import format_duration, format_size
from redolab.workloads.tpcc.tables import TpccTables

from ..answer import users_in_words
from ..factors import Factors
from ..rows import RecoveryRow
from .tables import on_page

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of a run for each server."""
    shown = on_page(*runs)
    crashes = [image for run in runs for image in crashes_of(run)]
    values = {
        "shown": shown,
        "pools": pools_in_words(shown.rows),
        "users": "; ".join(users_in_words(shown.rows)),
        "commands": [command(run, Factors(), always=["server", "log_size"]) for run in runs],
        "published": published_beside_ours(runs, ours=_OURS, smallest=0).as_markdown(),
        "crashes": [
            {
                "server": server_label(image.spec.dataset.server, image.spec.dataset.version),
                "log": format_size(image.spec.instance.log_size),
                "tables": _tables(image.spec.dataset),
                "why_killed": image.why_killed,
                "after": format_duration(image.fill_seconds),
                "redo": format_size(image.last_sample.checkpoint_age or 0),
            }
            for image in crashes
        ],
    }
    return Page(filled(_TEMPLATE, values), [shown.phases(title=pools_in_words(shown.rows))])


def pools_in_words(rows: Sequence[RecoveryRow]) -> str:
    """What the larger pool of each server changes, as in `MySQL 5.5.9 is ready after 98.9 s with a pool of 6G, 108.4 s with …`."""
    said = []
    for server in dict.fromkeys((row.server, row.version, row.log_size_bytes) for row in rows):
        own = [row for row in rows if (row.server, row.version, row.log_size_bytes) == server]
        known = sorted((row for row in own if row.ready_median_s is not None), key=lambda row: row.buffer_pool_bytes)
        if len(known) > 1:
            large, small = known[-1], known[0]
            times = ", ".join(
                f"{row.ready_median_s:.1f} s with a pool of {format_size(row.buffer_pool_bytes)}"
                for row in (large, small)
            )
            said.append(f"{server_label(large.server, large.version)} is ready after {times}")
    return "; ".join(said)


_OURS = (
    "Ours: TPC-C by go-tpc on the machine of these pages. Both from the line with which the server notes the crash to the end of "
    "rollback: other hardware, other sizes of tables and pool, the same definition."
)


def _tables(dataset: DatasetSpec) -> str:
    """What was loaded: of TPC-C the warehouses, as its size is what was asked for."""
    data = dataset.data
    return f"{data.warehouses} warehouses" if isinstance(data, TpccTables) else f"{format_size(dataset.size)} of tables"
