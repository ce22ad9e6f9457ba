"""Throughput gained by a larger redo log or by other settings of flushing, for `redolab size`.

It is measured apart from recovery times, under another load, and kept in a small file of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from redolab.errors import InvalidInput
from redolab.grouping import by_key
from redolab.machine import files
from redolab.predict.calibration import as_json
from redolab.project import PROJECT
from redolab.report.intervals import RelativeChange, median_of_known, relative_changes
from redolab.results.comparison_key import ComparisonKey, Field, Override, grouped
from redolab.results.gains import LoadSeries, blocks_of_equal_seconds, load_series
from redolab.results.loads import Load, found_in, settings_in_words
from redolab.results.plateau import Plateau
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run
from redolab.units import format_size

TRADE_PAGES = ("throughput", "settings")
"""Pages of results whose runs are loads on the project's own machine."""
_OF_SIZES = TRADE_PAGES[0]
"""Experiment whose loads differ in log size."""
FLUSHING = ("innodb_adaptive_flushing", "innodb_max_dirty_pages_pct")
"""Settings that decide how far flushing lets the log fill."""
_FEWEST = 2
"""Fewest log sizes to compare."""
_LIKE = 2.0
"""Factor within which two buffer pools count as about the same."""
_HOUR = 3600.0
_Treatment: TypeAlias = tuple[ComparisonKey, str | None]
"""Comparison key without one setting, and that setting's value."""


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """Effect of one log size against the smallest; sizes in bytes."""

    log_size: int
    throughput: RelativeChange | None
    """Change of throughput.

    None for the smallest log, with too few loads for an interval, or without equal seconds to compare.
    """
    lost: RelativeChange | None = None
    """Loss against the largest log, above 0 for a loss: 0.03 is 3 % less.

    None as for `throughput`, and for the largest log.
    """
    device_per_commit: float | None = None
    """Bytes written to the device for each commit."""
    loads: int
    """Number of loads with that size."""


class Trade(msgspec.Struct, frozen=True, kw_only=True):
    """Gains of one server under one load on one storage; sizes in bytes."""

    version: str
    storage: str
    workload: str
    connections: int
    tables: int
    pool: int
    gains: tuple[Gain, ...]
    """Gains by log size, the smallest log first."""
    furthest: float
    """Largest relative difference in throughput between any size and the smallest, significant or not."""
    plateau: Plateau | None
    """Smallest log with all but 3 % of the best throughput; None if equal seconds do not compare all sizes."""
    redo_per_hour: float | None = None
    """Least redo that these loads wrote, in bytes an hour by LSN; None if unknown.

    Servers that write more are not covered.
    """

    @property
    def is_repeated(self) -> bool:
        """True if there are intervals."""
        return any(each.throughput is not None for each in self.gains)

    @property
    def gains_something(self) -> bool:
        """True if a larger log has a significantly different throughput than the smallest."""
        return any(each.throughput is not None and each.throughput.excludes_zero for each in self.gains)

    def is_of(self, workload: str, pool: int, redo_per_hour: float) -> bool:
        """Return True if it covers a load: the same workload, about the same pool (bytes), and no more redo an hour
        (bytes).

        A load that writes more fills a small log sooner than any that was measured.
        """
        return (
            self.workload == workload
            and self.pool / _LIKE <= pool <= self.pool * _LIKE
            and self.redo_per_hour is not None
            and redo_per_hour <= self.redo_per_hour
        )

    def lost(self, log_size: int) -> RelativeChange | None:
        """Return the loss of throughput with a log of that size, against the largest; None if not comparable."""
        gain = self.gain(log_size)
        return None if gain is None else gain.lost

    def gain(self, log_size: int) -> Gain | None:
        """Return the measurement with a log of that size; None if there is none."""
        return next((each for each in self.gains if each.log_size == log_size), None)


class FlushingEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Effect on one server of a setting that decides how far the log fills."""

    setting: str
    """Setting with its value, as in `innodb_adaptive_flushing=0`."""
    storage: str
    log_size: int
    workload: str
    throughput: RelativeChange
    ready: RelativeChange | None
    """Change of the time to ready after a crash at the end of the load."""


class Trades(msgspec.Struct, frozen=True, kw_only=True):
    """Measured trades and effects of flushing, by server."""

    servers: Mapping[str, tuple[Trade, ...]] = {}
    """Name of a server in the catalogue → its trades, one for each series of loads."""
    flushing: Mapping[str, tuple[FlushingEffect, ...]] = {}

    def of(self, server: str, storage: str, workload: str, pool: int, redo_per_hour: float) -> Trade | None:
        """Return the gains of a larger log on a server and storage; None if they were not measured there.

        Prefer a load of this kind, then one with intervals, then the last measured.
        """
        known = [each for each in enumerate(self.servers.get(server, ())) if each[1].storage == storage]
        best = max(
            known,
            key=lambda each: (
                each[1].is_of(workload, pool, redo_per_hour),
                each[1].is_of(workload, pool, 0),
                each[1].is_repeated,
                each[0],
            ),
            default=None,
        )
        return None if best is None else best[1]

    def helping(self, server: str, storage: str) -> list[FlushingEffect]:
        """Return the settings of flushing that shortened the recovery of that server under load on that storage."""
        return [
            each
            for each in self.flushing.get(server, ())
            if each.storage == storage and each.ready is not None and each.ready.high < 0
        ]


def committed_loads() -> list[Run]:
    """Return the runs of loads that are committed with the project. Raises `LabError` if a page has none."""
    return [run for page in TRADE_PAGES for run in measured_runs(page)]


def trades_of(runs: Sequence[Run]) -> Trades:
    """Return the trades of these runs of loads, each kind on the class of machines with the most loads.

    Raises `LabError` if a run cannot be read.
    """
    loads = _of_one_class(found_in(runs).loads)
    # Loads of settings are too short to fill a larger log.
    of_sizes = {run.name for run in runs if run.record().experiment == _OF_SIZES}
    plain = [load for load in loads if load.run in of_sizes and not settings_in_words(load.image.spec)]
    servers: dict[str, tuple[Trade, ...]] = {}
    for each in load_series(plain):
        if len(each.cells) >= _FEWEST:
            server = each.spec.dataset.server
            servers[server] = (*servers.get(server, ()), _trade(each))
    flushing = {
        server: tuple(flushing_of([load for load in loads if load.image.spec.dataset.server == server]))
        for server in dict.fromkeys(load.image.spec.dataset.server for load in loads)
    }
    return Trades(servers=servers, flushing={server: effects for server, effects in flushing.items() if effects})


def _of_one_class(loads: Sequence[Load]) -> list[Load]:
    """Return the loads on the class of machines with the most, for each server, workload and storage."""
    kept: list[Load] = []
    for of_kind in by_key(loads, _server_workload_storage).values():
        ((machine, _),) = Counter(load.key.machine for load in of_kind).most_common(1)
        kept += [load for load in of_kind if load.key.machine == machine]
    return kept


def _server_workload_storage(load: Load) -> tuple[str, str, str]:
    spec = load.image.spec
    return spec.dataset.server, spec.workload, spec.storage


def _trade(series: LoadSeries) -> Trade:
    spec = series.spec
    return Trade(
        version=spec.dataset.version,
        storage=spec.storage,
        workload=spec.workload,
        connections=spec.threads,
        tables=spec.dataset.size,
        pool=spec.instance.buffer_pool,
        gains=tuple(
            Gain(
                log_size=cell.log_size,
                throughput=_with_interval(series.gains.get(cell.log_size)),
                lost=_lost(_with_interval(series.beside_largest.get(cell.log_size))),
                device_per_commit=median_of_known([load.figures.device_per_commit_bytes for load in cell.loads]),
                loads=len(cell.loads),
            )
            for cell in series.cells
        ),
        furthest=series.furthest,
        plateau=series.plateau,
        redo_per_hour=_least_redo([load.figures.redo_per_second for cell in series.cells for load in cell.loads]),
    )


def _least_redo(per_second: Sequence[float | None]) -> float | None:
    """Return the least redo in bytes an hour; None if one value is unknown."""
    known = [each for each in per_second if each is not None]
    return _HOUR * min(known) if known and len(known) == len(per_second) else None


def _lost(beside_largest: RelativeChange | None) -> RelativeChange | None:
    """Return a change as a loss: above 0 if below the largest log."""
    if beside_largest is None:
        return None
    return RelativeChange(-beside_largest.change, -beside_largest.high, -beside_largest.low, beside_largest.blocks)


def flushing_of(loads: Sequence[Load]) -> list[FlushingEffect]:
    """Return the effects on one server, from loads that differ in one of these settings.

    All loads of the same kind contribute to the spread of comparable loads.
    """
    kinds = grouped([(load.key, load) for load in loads], *_OF_A_KIND)
    return [effect for kind in kinds.values() for name in FLUSHING for effect in _effects(name, kind)]


_OF_A_KIND = (Field.VERSION, Field.BUFFER_POOL, Field.DATASET, Field.INSTANCE)
"""Parts of the comparison key in which loads that share a spread may differ."""


def _effects(name: str, loads: Sequence[Load]) -> list[FlushingEffect]:
    """Return the effects of one setting against its most frequent value: that of production, or of a baseline."""
    found = []
    for but, of_one in grouped([(load.key, load) for load in loads], Override(name)).items():
        values = Counter(_value(name, load) for load in of_one)
        base = None if None in values else values.most_common(1)[0][0]
        equal = blocks_of_equal_seconds(loads)
        rates = [(block, load, load.figures.rate.mean) for block, load in zip(equal, loads, strict=True)]
        throughput = _against((but, base), name, rates)
        ready = _against((but, base), name, [(load.block, load, _ready(load)) for load in loads])
        spec = of_one[0].image.spec
        found += [
            FlushingEffect(
                setting=f"{name}={value}",
                storage=spec.storage,
                log_size=spec.instance.log_size,
                workload=spec.workload,
                throughput=change,
                ready=_with_interval(ready.get((but, value))),
            )
            for value in values
            if value != base and (change := _with_interval(throughput.get((but, value)))) is not None
        ]
    return found


def _against(
    base: _Treatment, name: str, measured: Sequence[tuple[str, Load, float | None]]
) -> Mapping[_Treatment, RelativeChange]:
    return relative_changes(
        [
            (block, (load.key.ignoring(Override(name)), _value(name, load)), value)
            for block, load, value in measured
            if value
        ],
        base,
    )


def _value(name: str, load: Load) -> str | None:
    return next((each.value for each in load.image.spec.instance.overrides if each.name == name), None)


def _ready(load: Load) -> float | None:
    return median_of_known([each.trial.ready_s for each in load.recoveries])


def _with_interval(ratio: RelativeChange | None) -> RelativeChange | None:
    """Return the ratio, or None if too few loads give no interval."""
    return None if ratio is None or math.isnan(ratio.low) else ratio


def write_trades(path: Path, trades: Trades) -> None:
    """Write the trades to a file, as indented JSON."""
    files.write_whole(path, as_json(trades))


def shipped_trades() -> Trades:
    """Return the trades that come with redolab, of the project's machine. Raises `InvalidInput` if they are damaged."""
    path = PROJECT.provision / "throughput.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Trades)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidInput(
            f"{path} cannot be read ({error})", "'redolab fit -o FILE' writes it anew beside FILE"
        ) from None


def effect_in_words(effect: FlushingEffect) -> str:
    """Return words as in `innodb_max_dirty_pages_pct=10: time to ready -6 % (-11 to -1), throughput … (tpcc …)`."""
    ready = "" if effect.ready is None else f"time to ready {effect.ready.in_words()}, "
    where = f"{effect.workload} with a log of {format_size(effect.log_size)} on {effect.storage}"
    return f"{effect.setting}: {ready}throughput {effect.throughput.in_words()} ({where})"
