"""What a larger redo log gains in throughput, and what else could be changed instead: as `redolab size` tells it.

It is measured apart from recovery times, under another load, and kept in a small file of its own.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from redolab.crashes.gains import LoadSeries, load_series
from redolab.crashes.loads import Load, found_in
from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.models.intervals import Ratio, ratios
from redolab.project import PROJECT
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run
from redolab.units import format_size

TRADE_FORMAT = 1
TRADE_PAGES = ("throughput",)
"""The pages of results whose runs are loads on the project's own machine."""
FLUSHING = ("innodb_adaptive_flushing", "innodb_max_dirty_pages_pct")
"""The settings that decide how far flushing lets the log fill."""
_FEWEST = 2
"""Log sizes: with one there is nothing to compare."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """By what share something differs, with its 95 % interval: 0.18 is 18 % more."""

    change: float
    low: float
    high: float


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """What one size of log gained over the smallest; bytes, seconds."""

    log_size: int
    throughput: Change | None
    """None of the smallest itself."""
    ready_s: float | None
    """Of a crash at the end of the load, with the redo that production flushing leaves."""


class Trade(msgspec.Struct, frozen=True, kw_only=True):
    """One server under one load on one storage; sizes in bytes."""

    version: str
    storage: str
    workload: str
    connections: int
    tables: int
    pool: int
    gains: tuple[Gain, ...]
    """The smallest log first."""
    nothing_beyond: int
    """The smallest log with all but 3 % of the best throughput, and between which sizes that is by 95 % of chance."""
    between: tuple[int, int]

    def gain(self, log_size: int) -> Gain | None:
        """What was measured with a log of that size; None if nothing was."""
        return next((each for each in self.gains if each.log_size == log_size), None)


class FlushingEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What a setting that decides how far the log fills changes on one server."""

    setting: str
    """With its value, as in `innodb_adaptive_flushing=0`."""
    storage: str
    log_size: int
    workload: str
    throughput: Change
    ready: Change | None
    """Of the time to ready after a crash at the end of the load."""


class Trades(msgspec.Struct, frozen=True, kw_only=True):
    """All that was measured of some servers."""

    format: int = TRADE_FORMAT
    servers: Mapping[str, tuple[Trade, ...]] = {}
    flushing: Mapping[str, tuple[FlushingEffect, ...]] = {}

    def of(self, server: str, storage: str) -> Trade | None:
        """What a larger log gained on a server: on that storage if it was measured there, else on another."""
        known = self.servers.get(server, ())
        return next((each for each in known if each.storage == storage), next(iter(known), None))


def committed_loads() -> list[Run]:
    """The runs of loads that are committed with the project. Raises `LabError` if a page has none."""
    return [run for page in TRADE_PAGES for run in measured_runs(page)]


def trades_of(runs: Sequence[Run]) -> Trades:
    """What these runs of loads tell. Raises `LabError` if one cannot be read."""
    loads = found_in(runs).loads
    plain = [
        load for load in loads if not load.image.spec.instance.overrides and load.image.spec.kill.steady is not None
    ]
    servers: dict[str, tuple[Trade, ...]] = {}
    for each in load_series(plain):
        if len(each.cells) >= _FEWEST:
            servers[each.key.server] = (*servers.get(each.key.server, ()), _trade(each))
    flushing = {
        server: tuple(flushing_of([load for load in loads if load.image.spec.dataset.server == server]))
        for server in dict.fromkeys(load.image.spec.dataset.server for load in loads)
    }
    return Trades(servers=servers, flushing={server: told for server, told in flushing.items() if told})


def _trade(series: LoadSeries) -> Trade:
    key = series.key
    return Trade(
        version=series.cells[0].typical.image.spec.dataset.version,
        storage=key.storage,
        workload=key.workload,
        connections=key.connections,
        tables=key.tables,
        pool=key.pool,
        gains=tuple(
            Gain(
                log_size=cell.log_size,
                throughput=_change(series.gains.get(cell.log_size)),
                ready_s=next((trial.seconds_to_ready for trial in cell.typical.recoveries), None),
            )
            for cell in series.cells
        ),
        nothing_beyond=series.plateau.size,
        between=(series.plateau.low, series.plateau.high),
    )


def flushing_of(loads: Sequence[Load]) -> list[FlushingEffect]:
    """The effects of one server: from loads of the same blocks that differ in one of these settings alone."""
    found = []
    for name in FLUSHING:
        alike: dict[tuple[object, ...], list[Load]] = defaultdict(list)
        for load in loads:
            alike[_but(name, load)].append(load)
        found += [effect for of_one in alike.values() for effect in _effects(name, of_one)]
    return found


def _effects(name: str, alike: Sequence[Load]) -> list[FlushingEffect]:
    values = Counter(_value(name, load) for load in alike)
    # That of production, or what a baseline sets: it is measured more often than what is compared with it.
    base = None if None in values else values.most_common(1)[0][0]
    throughput = ratios([(load.block, _value(name, load), load.figures.rate.mean) for load in alike], base)
    times = [(load, next((trial.seconds_to_ready for trial in load.recoveries), None)) for load in alike]
    ready = ratios([(load.block, _value(name, load), seconds) for load, seconds in times if seconds], base)
    spec = alike[0].image.spec
    found = []
    for value in values:
        change = _change(throughput.get(value))
        if value != base and change is not None:
            found.append(
                FlushingEffect(
                    setting=f"{name}={value}",
                    storage=spec.storage,
                    log_size=spec.instance.log_size,
                    workload=spec.workload,
                    throughput=change,
                    ready=_change(ready.get(value)),
                )
            )
    return found


def _value(name: str, load: Load) -> str | None:
    return next((each.value for each in load.image.spec.instance.overrides if each.name == name), None)


def _but(name: str, load: Load) -> tuple[object, ...]:
    """What a load was made with, but for that setting."""
    spec = load.image.spec
    instance = spec.instance
    return (
        *(spec.dataset, spec.workload, spec.threads, spec.kill, spec.storage),
        *(instance.log_size, instance.buffer_pool, instance.flush_log_at_trx_commit, instance.binary_log),
        *(instance.without, frozenset(each for each in instance.overrides if each.name != name)),
    )


def _change(ratio: Ratio | None) -> Change | None:
    """None where a single block tells no interval."""
    if ratio is None or math.isnan(ratio.low):
        return None
    return Change(change=ratio.change, low=ratio.low, high=ratio.high)


def write_trades(path: Path, trades: Trades) -> None:
    """Write them to a file, as JSON that people can read."""
    files.write_whole(path, msgspec.json.format(msgspec.json.encode(trades), indent=1) + b"\n")


def shipped_trades() -> Trades:
    """Those that come with redolab: of the project's own machine. Raises `InvalidInput` if they are damaged."""
    path = PROJECT.provision / "throughput.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Trades)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidInput(
            f"{path} cannot be read ({error})", "'redolab fit -o FILE' writes it anew beside FILE"
        ) from None


def in_percent(change: Change) -> str:
    """As in `+18 % (+16 to +20)`, or that nothing was told apart."""
    if not (change.low > 0 or change.high < 0):
        return f"no measurable effect (±{100 * max(-change.low, change.high):.0f} %)"
    return f"{100 * change.change:+.0f} % ({100 * change.low:+.0f} to {100 * change.high:+.0f})"


def effect_in_words(effect: FlushingEffect) -> str:
    """As in `innodb_max_dirty_pages_pct=10: throughput -4 % (-6 to -2), time to ready -30 % (-41 to -17), measured with …`."""
    ready = "" if effect.ready is None else f", time to ready {in_percent(effect.ready)}"
    where = f"{effect.workload}, a log of {format_size(effect.log_size)} on {effect.storage}"
    return f"{effect.setting}: throughput {in_percent(effect.throughput)}{ready} ({where}, after production flushing)"
