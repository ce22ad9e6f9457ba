"""Recovery time that one changed condition of the crash or the recovery adds, measured by the experiment `anatomy`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import scipy

from redolab.report.intervals import SHARE, holm
from redolab.units import format_size

if TYPE_CHECKING:
    import polars

BASELINE = "baseline"
_PHASES = ("discover", "scan", "apply", "open", "accept", "start")
_FEWEST = 2
"""Fewest crashes for a spread."""
_BASELINE = ("label", "age", "storage", "disk", "log_base", "dataset_bytes_base", "filled_to_base")
_MACHINE = ("identity", "cpu", "cores")
Row = Mapping[str, Any]


def effects(cases: polars.DataFrame) -> polars.DataFrame:
    """Return a row for each level against the baseline of its server on its storage.

    `cases` has the experiment's recoveries as `redolab.results.measured.measured` returns them. Runs with comparable
    baselines count together. `ready` is the geometric mean over `crashes`, and `added` its excess over the baseline's,
    both in seconds. `change` has the 95 % interval `low` to `high`, over crashes. `stands`: true if it is significant
    among all levels of that baseline (Holm). `phase` is the phase that changed most. `n` of `of` recoveries were ready.
    """
    import polars as pl

    if cases.is_empty():
        return cases
    base = cases.filter(factor=BASELINE)
    made = base.group_by("run", "label", "storage").agg(
        pl.col("log", "dataset_bytes", "filled_to").first(), day=pl.col("started").min().dt.date()
    )
    known = cases.join(made, maintain_order="left", on=["run", "label", "storage"], suffix="_base")
    by_baseline = known.group_by(*_BASELINE, *_MACHINE, "crash_kind", maintain_order=True)
    groups = [(key, own.to_dicts()) for key, own in by_baseline]
    spread = _spread([_logarithms(_of(own, BASELINE, BASELINE)) for _, own in groups])
    rows: list[dict[str, Any]] = []
    for (label, age, storage, disk, log, dataset, filled_to, *_), own in groups:
        cell = _effects(own, spread)
        if cell:
            day = min(row["day"] for row in own)
            baseline = f"{format_size(log)} filled to {filled_to}, tables of {format_size(dataset)}, {day}"
            shared = {"label": label, "age": age, "storage": storage, "disk": disk, "log": log, "baseline": baseline}
            rows += [{**shared, **row} for row in cell]
    return pl.DataFrame(rows, infer_schema_length=None)


def _effects(own: Sequence[Row], spread: tuple[float, int]) -> list[dict[str, Any]]:
    base = _of(own, BASELINE, BASELINE)
    if not _logarithms(base):
        return []
    levels = dict.fromkeys((row["factor"], row["level"]) for row in own)
    found = [_effect(factor, level, _of(own, factor, level), base, spread) for factor, level in levels]
    for effect, stands in zip(found, holm([each["chance"] for each in found]), strict=True):
        effect["stands"] = stands
    return found


def _effect(
    factor: str, level: str, rows: Sequence[Row], base: Sequence[Row], spread: tuple[float, int]
) -> dict[str, Any]:
    logarithms, of_base = _logarithms(rows), _logarithms(base)
    base_ready = math.exp(statistics.fmean(of_base.values()))
    counts = {
        "n": sum(row["ready_s"] is not None for row in rows),
        "of": len(rows),
        "crashes": len({row["image"] for row in rows}),
    }
    found = {"factor": factor, "level": level, "base": base_ready, **counts, "rollback": _mean(rows, "rollback_s")}
    if not logarithms:
        unknown = dict.fromkeys(("ready", "added", "change", "low", "high"))
        return {**found, **unknown, "chance": math.nan, "phase": rows[0]["ended_phase"]}
    ready = math.exp(statistics.fmean(logarithms.values()))
    if factor == BASELINE:
        unknown = dict.fromkeys(("added", "change", "low", "high", "phase"))
        return {**found, "ready": ready, **unknown, "chance": math.nan}
    change = math.log(ready / base_ready)
    reach, chance = _certainty(change, logarithms, of_base, spread)
    timed, timed_base = _with_all_phases(rows), _with_all_phases(base)
    differences = {
        phase: now - before
        for phase in _PHASES
        if (now := _mean(timed, f"{phase}_s")) is not None and (before := _mean(timed_base, f"{phase}_s")) is not None
    }
    return {
        **found,
        "ready": ready,
        "added": ready - base_ready,
        "change": math.expm1(change),
        "low": math.expm1(change - reach),
        "high": math.expm1(change + reach),
        "chance": chance,
        "phase": max(differences, key=lambda name: abs(differences[name]), default=None),
    }


def _certainty(
    change: float, level: Mapping[str, float], base: Mapping[str, float], spread: tuple[float, int]
) -> tuple[float, float]:
    """Return half of the 95 % interval of a level's change, and the change's two-sided p-value.

    The unit is the logarithm of a crash's mean: comparable crashes differ more than recoveries of one crash. If the
    level has the baseline's own crashes, the test is paired; otherwise it is Welch's, with a spread for each. A level
    of a single crash gets the spread of all baselines. NaN without enough data.
    """
    is_paired = level.keys() <= base.keys()
    if is_paired and len(level) < _FEWEST:
        return math.nan, math.nan
    if is_paired:
        test = scipy.stats.ttest_1samp([value - base[name] for name, value in level.items()], 0.0)
    elif min(len(level), len(base)) < _FEWEST:
        deviation, freedom = spread
        error = deviation * math.sqrt(1 / len(level) + 1 / len(base))
        student = scipy.stats.t(freedom)
        return float(student.ppf((1 + SHARE) / 2)) * error, 2 * float(student.sf(abs(change) / error)) if error else 0.0
    else:
        test = scipy.stats.ttest_ind(list(level.values()), list(base.values()), equal_var=False)
    low, high = test.confidence_interval(SHARE)
    return float(high - low) / 2, float(test.pvalue)


def _spread(baselines: Iterable[Mapping[str, float]]) -> tuple[float, int]:
    """Return the pooled standard deviation between crashes of a baseline, in logarithms, and its degrees of freedom."""
    squares, freedom = 0.0, 0
    for crashes in (list(each.values()) for each in baselines if each):
        squares += math.fsum((each - statistics.fmean(crashes)) ** 2 for each in crashes)
        freedom += len(crashes) - 1
    return (math.sqrt(squares / freedom), freedom) if freedom else (math.nan, 0)


def _of(rows: Iterable[Row], factor: str, level: str) -> list[Row]:
    return [row for row in rows if (row["factor"], row["level"]) == (factor, level)]


def _with_all_phases(rows: Iterable[Row]) -> list[Row]:
    """Return the recoveries with all their phases: a log that ends before the server was ready has only some."""
    return [row for row in rows if row["ready_s"] is None or row["start_s"] is not None]


def _logarithms(rows: Iterable[Row]) -> dict[str, float]:
    """Return the mean logarithm of each crash's recoveries that were ready."""
    seconds: dict[str, list[float]] = {}
    for row in rows:
        if row["ready_s"] is not None:
            seconds.setdefault(row["image"], []).append(math.log(row["ready_s"]))
    return {image: statistics.fmean(of_it) for image, of_it in seconds.items()}


def _mean(rows: Iterable[Row], column: str) -> float | None:
    known = [row[column] for row in rows if row[column] is not None]
    return statistics.fmean(known) if known else None
