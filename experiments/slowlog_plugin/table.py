"""What each way of logging costs, and what it loses: one row a cell."""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from redolab.models.intervals import Ratio, median_of_known, ratios
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable

from .arms import Arm, Place
from .trial import PluginTrial

_DRAWS = 2000
_SEED = 1
_FEWEST_BLOCKS = 3
_REACH = 0.025
GOAL = 0.5
"""What the plugin was written for: at most so much of the built-in log's cost."""
PLUGINS = (Arm.PLUGIN, Arm.BUFFERED)


@dataclass(frozen=True, slots=True)
class Relative:
    """The cost of a way of logging for each of the built-in log's; the 95 % interval is NaN with fewer than three blocks."""

    share: float
    low: float
    high: float

    def in_words(self) -> str:
        """As in `0.42 (0.35–0.50)`."""
        between = "" if math.isnan(self.low) else f" ({self.low:.2f}–{self.high:.2f})"
        return f"{self.share:.2f}{between}"


@dataclass(frozen=True, slots=True)
class CostRow:
    """A way of logging on one server with so many clients: medians of `n` trials."""

    server: str
    version: str
    connections: int
    arm: Arm
    place: Place
    n: int
    per_second: float
    change: Ratio | None
    """By what share the throughput differs from that without any log, of the same blocks; None of `none` itself."""
    relative: Relative | None
    """None where the built-in log in the same place was not measured, or its cost is not resolved."""
    cpu_us: float | None
    p95_ms: float | None
    p99_ms: float | None
    executed: int
    """Of all trials together, as what follows."""
    lost: int | None
    cut_off: int
    bytes_a_statement: float | None

    @property
    def way(self) -> str:
        """How it logs, in words."""
        return f"{self.arm}, {self.place}" if self.place else self.arm.value


@dataclass(frozen=True, slots=True)
class KilledRow:
    """What was lost when servers were killed, of all trials."""

    server: str
    version: str
    arm: Arm
    buffer: int
    connections: int
    n: int
    lost: Sequence[int]
    """Statements that were answered and are not in the log, of each trial."""


def cost_rows(trials: Sequence[PluginTrial]) -> list[CostRow]:
    """A row for each cell, servers and clients as they were measured."""
    cells: dict[tuple[str, int], list[PluginTrial]] = defaultdict(list)
    for trial in trials:
        if not trial.killed:
            cells[trial.server, trial.connections].append(trial)
    return [row for key in sorted(cells, key=_by_version) for row in _rows(cells[key])]


def killed_rows(trials: Sequence[PluginTrial]) -> list[KilledRow]:
    """A row for each way of logging under which servers were killed."""
    found: dict[tuple[str, Arm], list[PluginTrial]] = defaultdict(list)
    for trial in trials:
        if trial.killed:
            found[trial.server, trial.arm].append(trial)
    return [
        KilledRow(
            server=each[0].server,
            version=each[0].version,
            arm=each[0].arm,
            buffer=each[0].buffer,
            connections=each[0].connections,
            n=len(each),
            lost=[trial.lost or 0 for trial in each],
        )
        for _, each in sorted(found.items(), key=lambda item: (_by_version((item[0][0], 0)), item[0][1]))
    ]


def _by_version(key: tuple[str, int]) -> tuple[Sequence[int], str, int]:
    server, connections = key
    return [int(part) for part in server.rpartition("-")[2].split(".") if part.isdigit()], server, connections


def _rows(trials: Sequence[PluginTrial]) -> list[CostRow]:
    by_way: dict[tuple[Arm, Place], list[PluginTrial]] = defaultdict(list)
    for trial in trials:
        by_way[trial.arm, trial.place].append(trial)
    measured = [(str(each.block), (each.arm, each.place), each.per_second) for each in trials]
    changes = ratios(measured, (Arm.NONE, Place.NOWHERE))
    order = list(Arm)
    return [
        _row(by_way[way], changes.get(way), _relative(by_way, way) if _costs_something(changes, way[1]) else None)
        for way in sorted(by_way, key=lambda way: (order.index(way[0]), way[1]))
    ]


def _row(trials: Sequence[PluginTrial], change: Ratio | None, relative: Relative | None) -> CostRow:
    first = trials[0]

    def median(of: Callable[[PluginTrial], float | None]) -> float | None:
        return median_of_known([of(trial) for trial in trials])

    lost = [trial.lost for trial in trials if trial.lost is not None]
    return CostRow(
        server=first.server,
        version=first.version,
        connections=first.connections,
        arm=first.arm,
        place=first.place,
        n=len(trials),
        per_second=statistics.median(trial.per_second for trial in trials),
        change=change,
        relative=relative,
        cpu_us=median(lambda trial: trial.cpu_us),
        p95_ms=median(lambda trial: trial.p95_ms),
        p99_ms=median(lambda trial: trial.p99_ms),
        executed=sum(trial.executed for trial in trials),
        lost=sum(lost) if lost else None,
        cut_off=sum(trial.cut_off for trial in trials),
        bytes_a_statement=median(
            lambda trial: trial.log_bytes / trial.lines if trial.log_bytes and trial.lines else None
        ),
    )


def _costs_something(changes: Mapping[tuple[Arm, Place], Ratio], place: Place) -> bool:
    built_in = changes.get((Arm.BUILT_IN, place))
    return built_in is not None and built_in.change < 0 and built_in.excludes_zero


def _relative(by_way: Mapping[tuple[Arm, Place], Sequence[PluginTrial]], way: tuple[Arm, Place]) -> Relative | None:
    """How a plugin's cost stands to that of the built-in log in the same place, block by block."""
    arm, place = way
    if arm not in PLUGINS:
        return None
    speeds = [
        {trial.block: trial.per_second for trial in by_way.get(each, ())}
        for each in ((Arm.NONE, Place.NOWHERE), (Arm.BUILT_IN, place), way)
    ]
    blocks = sorted(set.intersection(*(set(each) for each in speeds)))
    none, built_in, plugin = speeds
    costs = [(1 - plugin[block] / none[block], 1 - built_in[block] / none[block]) for block in blocks]
    return relative_cost(costs)


def relative_cost(costs: Sequence[tuple[float, float]]) -> Relative | None:
    """The mean cost of the one for each of the other, from (cost, other's cost) of blocks; the interval by drawing blocks anew.

    None where the other costs nothing.
    """
    share = _share(costs)
    if share is None:
        return None
    if len(costs) < _FEWEST_BLOCKS:
        return Relative(share, math.nan, math.nan)
    draw = random.Random(_SEED)
    drawn = sorted(each for _ in range(_DRAWS) if (each := _share(draw.choices(costs, k=len(costs)))) is not None)
    return Relative(share, drawn[int(_REACH * len(drawn))], drawn[int((1 - _REACH) * len(drawn)) - 1])


def _share(costs: Sequence[tuple[float, float]]) -> float | None:
    other = sum(each for _, each in costs)
    return sum(each for each, _ in costs) / other if other > 0 else None


def answer(rows: Sequence[CostRow], killed: Sequence[KilledRow]) -> str:
    """What the plugin costs beside the built-in log, where the latter's cost is resolved; what was lost."""
    lost = sum(abs(row.lost or 0) + row.cut_off for row in rows if row.arm in PLUGINS)
    buffered = [each for row in killed if row.arm is Arm.BUFFERED for each in row.lost]
    sentences = [
        f"{finding(rows)}.",
        "No statement was missing in the plugin's files." if not lost else f"{lost:,} statements were not as logged.",
    ]
    if buffered:
        sentences.append(f"Killed with a buffer, a server lost up to {max(buffered):,} lines.")
    return " ".join(sentences)


def finding(rows: Sequence[CostRow]) -> str:
    """The first sentence of it, without its full stop."""
    places = [row.place for row in rows if row.arm is Arm.PLUGIN]
    if not places:
        return "The plugin was not measured"
    place = Place.DISK if Place.DISK in places else places[0]
    shown = {(row.server, row.connections): row for row in rows if row.arm is Arm.PLUGIN and row.place is place}
    costly = {key: row for key, row in shown.items() if row.relative is not None}
    servers = {server for server, _ in shown}
    unclear = sorted({clients for _, clients in shown.keys() - costly.keys()})
    if not costly:
        return f"What the built-in log costs on {place} cannot be told from nothing"
    said = []
    for clients in sorted({clients for _, clients in costly}):
        plugins = [row for (_, each), row in costly.items() if each == clients]
        built_in = [
            row
            for row in rows
            if row.arm is Arm.BUILT_IN and row.place is place and (row.server, row.connections) in costly
            if row.connections == clients
        ]
        taken = _taken_by_plugin([row for row in plugins if row.relative is not None])
        where = "" if len(plugins) == len(servers) else f" of {' and '.join(_label(row) for row in plugins)}"
        said.append(
            f"With {clients} clients the built-in slow query log takes {_taken(built_in)} of the throughput of SELECT 1{where}, "
            f"the plugin {taken}"
        )
    if unclear:
        where = " on every server" if len(servers) > 1 else ""
        said.append(f"With {' and '.join(map(str, unclear))} the built-in log's cost is not resolved{where}")
    return ". ".join(said)


def _taken_by_plugin(rows: Sequence[CostRow]) -> str:
    """Say what it takes of the throughput and of what the built-in log takes, each with the widest interval."""
    found = [row.relative for row in rows if row.relative is not None]
    shares = sorted(each.share for each in found)
    if shares[-1] <= 0:
        return "nothing: it was faster than without a log, which puts that comparison in doubt"
    between = f"{shares[0]:.2f}" if len(shares) == 1 else f"{shares[0]:.2f} to {shares[-1]:.2f}"
    low, high = min(each.low for each in found), max(each.high for each in found)
    within = "" if math.isnan(low) else f" (95 %: {low:.2f} to {high:.2f})"
    return f"{_taken(rows)}: {between} of that{within}"


def _label(row: CostRow) -> str:
    return server_label(row.server, row.version)


def _taken(rows: Sequence[CostRow]) -> str:
    """Say the loss in percent with the widest 95 % interval, and whether any row's interval leaves out no loss."""
    changes = [row.change for row in rows if row.change is not None]
    found = sorted(-100 * each.change for each in changes)
    smallest, largest = (f"{value:.0f}" for value in (found[0], found[-1]))
    taken = f"{smallest} %" if smallest == largest else f"{smallest} to {largest} %"
    if any(math.isnan(each.low) for each in changes):
        return taken
    low, high = -100 * max(each.high for each in changes), -100 * min(each.low for each in changes)
    resolved = "" if any(each.excludes_zero for each in changes) else ", not significant"
    return f"{taken} (95 %: {low:.0f} to {high:.0f}{resolved})"


def _share_columns() -> list[Column[CostRow]]:
    return [
        Column("server", lambda row: server_label(row.server, row.version), shared=str),
        Column("clients", lambda row: str(row.connections), right=True, shared="{} clients".format),
        Column("log", lambda row: row.way),
        Column("statements/s", lambda row: f"{row.per_second:,.0f}", right=True),
        Column("against none", _change, right=True),
        Column("of the built-in's cost", lambda row: row.relative.in_words() if row.relative else "", right=True),
        Column("CPU µs", lambda row: _decimal(row.cpu_us, 1), right=True),
    ]


def _change(row: CostRow) -> str:
    return row.change.with_interval() if row.change else ""


def _decimal(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def _lost(row: CostRow) -> str:
    return "" if row.lost is None else f"{row.lost:,}"


_NOTES = (
    "'against none': throughput against the same server without a log, in the same blocks, with its 95 % interval. 'of the "
    "built-in's cost': what the plugin takes of the throughput for each that the server's own log in the same place takes, where "
    "that is resolved.",
    "'CPU µs': processor time of the server for a statement. 'schema': performance_schema=ON without digests, the base of "
    "'digests'; all others run with performance_schema=OFF.",
)


def cost_table(rows: Sequence[CostRow]) -> ReportTable:
    """The table that everybody is shown."""
    latency = [
        Column[CostRow]("p99 ms", lambda row: _decimal(row.p99_ms, 2), right=True, spare=True),
        Column[CostRow]("missing", _lost, right=True, spare=True),
        Column[CostRow]("n", lambda row: str(row.n), right=True, shared="{} blocks".format),
    ]
    return ReportTable.brief("What logging every statement costs", rows, [*_share_columns(), *latency], _NOTES)


def details_table(rows: Sequence[CostRow]) -> ReportTable:
    """The same with latencies and what is in the logs."""
    more = [
        Column[CostRow]("p95 ms", lambda row: _decimal(row.p95_ms, 2), right=True),
        Column[CostRow]("p99 ms", lambda row: _decimal(row.p99_ms, 2), right=True),
        Column[CostRow]("executed", lambda row: f"{row.executed:,}", right=True),
        Column[CostRow]("missing", _lost, right=True),
        Column[CostRow]("not whole", lambda row: str(row.cut_off), right=True),
        Column[CostRow]("B/statement", lambda row: _decimal(row.bytes_a_statement, 0), right=True),
        Column[CostRow]("n", lambda row: str(row.n), right=True),
    ]
    return ReportTable.of("Latencies, and what is in the logs", rows, [*_share_columns(), *more], _NOTES)


def killed_table(rows: Sequence[KilledRow]) -> ReportTable:
    """What was lost when servers were killed."""
    columns = [
        Column[KilledRow]("server", lambda row: server_label(row.server, row.version)),
        Column[KilledRow]("log", lambda row: row.arm.value),
        Column[KilledRow]("buffer, B", lambda row: f"{row.buffer:,}", right=True),
        Column[KilledRow]("clients", lambda row: str(row.connections), right=True),
        Column[KilledRow]("answered and not in the log, each time", lambda row: ", ".join(map(str, row.lost))),
    ]
    notes = [
        "Below zero: statements that were logged, and whose answer the client had not got when the server was killed."
    ]
    return ReportTable.of("Lines lost at SIGKILL", rows, columns, notes)


def row_dictionaries(rows: Sequence[CostRow]) -> list[dict[str, object]]:
    """The rows as CSV and Parquet take them."""
    told = []
    for row in rows:
        whole = asdict(row)
        change, relative = whole.pop("change"), whole.pop("relative")
        for name, of, parts in (
            ("change", change, ("change", "low", "high")),
            ("relative", relative, ("share", "low", "high")),
        ):
            for part in parts:
                whole[f"{name}_{part}" if part != name else name] = None if of is None else of[part]
        told.append({**whole, "arm": row.arm.value, "place": row.place.value})
    return told
