"""Recoveries as a frame in which those that may be pooled have the same `configuration`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from redolab.crash.records.crash import undo_pages
from redolab.report.labels import server_label
from redolab.results.alike import Keyed
from redolab.results.bound import bound_of
from redolab.results.comparison_key import ComparisonKey
from redolab.results.rows import recovery_row

if TYPE_CHECKING:
    import polars


def comparable(recoveries: Sequence[Keyed]) -> polars.DataFrame:
    """Return recoveries as a frame in the order given: those that may be pooled have the same `configuration`.

    Beside the columns of docs/run-data.md a row has its `run`, the `machine` as tables name it with its `identity`, `cpu` and
    `cores`, the server's `label`, `took_s`, and what it was `bound_by`. `undo_pages`: pages by which the files with undo grew
    before the crash. `ended_at`: where a recovery ended that was not ready, as in `50 % of apply`. `why_blank`: reasons of
    phases without seconds. `log_notes`: what the log says beyond the phases. `series`: the file with its clients' reports.
    """
    import polars as pl

    numbers: dict[tuple[ComparisonKey, str], int] = {}
    rows = [
        # Machines of one class that have names of their own, as the workers of a cluster, stand apart in tables.
        {"configuration": numbers.setdefault((each.key, each.machine), len(numbers)), **_row(each)}
        for each in recoveries
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    # A column without any value has no type, and no median.
    return frame.cast({name: pl.Float64 for name, kind in frame.schema.items() if kind == pl.Null})


def _row(each: Keyed) -> Mapping[str, object]:
    trial, warm, timeline = each.trial, each.recovery.warm, each.trial.timeline
    phases = () if timeline is None else timeline.phases
    row = {
        "run": each.run,
        "machine": each.machine,
        "identity": each.identity,
        "cpu": each.key.machine.cpu,
        "cores": each.key.machine.cores,
        "label": server_label(trial.server, trial.version),
        **recovery_row(each.recovery),
        "took_s": each.record.took,
        "undo_pages": undo_pages(each.image),
        "ended_at": None if trial.unfinished is None else trial.unfinished.where,
        "why_blank": "; ".join(f"{time.phase}: {time.why}" for time in phases if time.seconds is None),
        "log_notes": "" if timeline is None else "; ".join(timeline.notes),
        "series": "" if warm is None else warm.series,
    }
    return {**row, "bound_by": bound_of(row)}
