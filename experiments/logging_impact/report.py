"""What a run of what logging costs measured: the answer, the table and the picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from redolab.models.intervals import Ratio
from redolab.report.contents import Plot, Report
from redolab.report.labels import server_label
from redolab.report.table import PAGE, SCREEN, Column, ReportTable
from redolab.runs.store import Run
from redolab.units import MIB, format_duration, format_size

from .effects import Compared, LogEffect, effects, measured_in
from .logs import LOGS, NONE
from .plots import plot_costs
from .published import PublishedRatio, published_ratios

_MANY = 100


def report(run: Run) -> Report:
    """The answer, the table and the picture of a run."""
    found = effects(measured_in([run]))
    if not any(each.throughput for each in found):
        return Report(answer="No log was compared with none.", tables=[])
    return Report(
        answer=answer(found),
        tables=[costs_table(found)],
        details=[costs_table(found, PAGE)],
        rows={"table": row_dictionaries(found)},
        plots=plots(found),
    )


def plots(found: Sequence[LogEffect]) -> list[Plot]:
    """The picture of the costs, a panel a cell."""
    return [Plot("costs", partial(plot_costs, found=found, published=published_ratios(), title=title(found)))]


def answer(found: Sequence[LogEffect]) -> str:
    """Of each cell what logging every statement costs, then the other logs whose effect is resolved, the costliest first.

    As in `MySQL 9.7.4, 20 clients, change of NOTPM: every statement in the slow query log -21 % (-25 to -17); table …`.
    """
    return " ".join(_sentence(key, [each for each in found if each.key == key]) for key in _keys(found))


def _sentence(key: Compared, found: Sequence[LogEffect]) -> str:
    known = {each.log: each.throughput for each in found if each.throughput is not None}
    if "all" not in known:
        each = max(known.items(), key=lambda pair: abs(pair[1].change), default=None)
        return "" if each is None else f"{cell_label(key)}: {LOGS[each[0]].about} {each[1].in_words()} of NOTPM."
    others = sorted((pair for pair in known.items() if pair[0] != "all"), key=lambda pair: pair[1].change)
    resolved = [pair for pair in others if math.isnan(pair[1].low) or pair[1].excludes_zero]
    parts = [f"{name} {ratio.in_words()}" for name, ratio in resolved]
    if unclear := [pair for pair in others if pair not in resolved]:
        widest = max(max(-ratio.low, ratio.high) for _, ratio in unclear)
        parts.append(f"not resolved (±{100 * widest:.0f} % at most): {', '.join(name for name, _ in unclear)}")
    said = "; ".join(parts)
    return (
        f"{cell_label(key)}, change of NOTPM: every statement in the slow query log {_resolved_or_not(known['all'])}"
        f"{f'; {said}' if said else ''}."
    )


def _resolved_or_not(effect: Ratio) -> str:
    """As in `-8 % (-18 to +2), not resolved`: nobody takes what could not be seen for nothing."""
    return effect.with_interval() + ("" if math.isnan(effect.low) or effect.excludes_zero else ", not resolved")


def title(found: Sequence[LogEffect]) -> str:
    """What logging every statement costs, cell by cell."""
    parts = [
        f"{cell_label(each.key)} {_resolved_or_not(each.throughput)}"
        for each in found
        if each.log == "all" and each.throughput is not None
    ]
    if not parts:
        return "What logging queries changes of NOTPM"
    return f"Logging every statement into the slow query log, NOTPM: {'; '.join(parts)}"


def cell_label(key: Compared) -> str:
    """As in `MySQL 9.7.4, 20 clients, pool 1.75G`; the pool where it does not hold the tables."""
    clients = f"{key.cell.connections} client{'s' * (key.cell.connections != 1)}"
    return f"{server_label(key.cell.server, key.version)}, {clients}" + (
        f", pool {format_size(key.cell.pool)}" if is_small(key) else ""
    )


def is_small(key: Compared) -> bool:
    """Whether the pool does not hold the tables."""
    return key.cell.pool < key.conditions.warehouses * _MANY * MIB


def costs_table(found: Sequence[LogEffect], widest: int = SCREEN) -> ReportTable:
    """A row a log of each cell; in so many characters."""
    published = published_ratios()
    columns = [
        *(
            [Column[LogEffect]("machine", lambda each: each.key.machine)]
            if len({each.key.machine for each in found}) > 1
            else []
        ),
        Column[LogEffect]("server", lambda each: server_label(each.key.cell.server, each.key.version), shared=str),
        Column[LogEffect](
            "clients", lambda each: str(each.key.cell.connections), right=True, shared="{} clients".format
        ),
        Column[LogEffect]("pool", lambda each: format_size(each.key.cell.pool), right=True, shared="pool {}".format),
        Column[LogEffect]("log", lambda each: each.log),
        Column[LogEffect]("NOTPM", lambda each: f"{each.rate:,.0f}", right=True),
        Column[LogEffect]("of none (95 %)", _ratio, right=True),
        Column[LogEffect]("published", lambda each: _published(each, published), right=True, shared=_nothing),
        Column[LogEffect]("p99, ms", lambda each: _plain(each.latency), right=True),
        Column[LogEffect]("statements/s", lambda each: f"{each.statements:,.0f}", right=True, spare=True),
        Column[LogEffect]("MB/s", lambda each: _scaled(each.logged_bytes, 1e6, 1), right=True),
        Column[LogEffect]("lines/s", lambda each: _scaled(each.logged_lines, 1, 0), right=True),
        Column[LogEffect](
            "CPU, us",
            lambda each: _scaled(each.processor_us, 1, 0),
            right=True,
            spare=True,
            note="CPU: the server's CPU time for a statement.",
        ),
        Column[LogEffect]("loads", lambda each: str(each.loads), right=True, shared="{} loads each".format, spare=True),
    ]
    first = found[0].key.conditions
    stretches = " or ".join(format_duration(each) for each in sorted({each.key.conditions.seconds for each in found}))
    return ReportTable.brief(
        "What logging queries costs",
        found,
        columns,
        [
            f"TPC-C by go-tpc, {first.warehouses} warehouses, redo log {format_size(first.log_size)}, "
            f"innodb_flush_log_at_trx_commit=1; stretches of {stretches}, every log once in each block. Of "
            "none: NOTPM against no log in the same blocks, with the 95 % interval. p99: median over the seconds of a New-Order's "
            "99th percentile (one significant digit). Lines: of a file; of a "
            "table its rows; of digests statements.",
            "; ".join(f"{log}: {LOGS[log].about}" for log in dict.fromkeys(each.log for each in found)) + ".",
        ],
        widest,
    )


def row_dictionaries(found: Sequence[LogEffect]) -> list[dict[str, object]]:
    """The numbers behind the table."""
    return [
        {
            "machine": each.key.machine,
            "server": each.key.cell.server,
            "version": each.key.version,
            "connections": each.key.cell.connections,
            "pool_bytes": each.key.cell.pool,
            "log": each.log,
            "loads": each.loads,
            "notpm": each.rate,
            **{
                f"throughput_{name}": value
                for name, value in (asdict(each.throughput) if each.throughput else {}).items()
            },
            "latency_99_ms": each.latency,
            "statements_per_second": each.statements,
            "logged_bytes_per_second": each.logged_bytes,
            "logged_lines_per_second": each.logged_lines,
            "server_cpu_us_per_statement": each.processor_us,
        }
        for each in found
    ]


def _keys(found: Sequence[LogEffect]) -> list[Compared]:
    return list(dict.fromkeys(each.key for each in found))


def _ratio(each: LogEffect) -> str:
    ratio = each.throughput
    if ratio is None:
        return "1" if each.log == NONE else "–"
    if math.isnan(ratio.low):
        return f"{1 + ratio.change:.2f}"
    return f"{1 + ratio.change:.2f} ({1 + ratio.low:.2f}–{1 + ratio.high:.2f})"


def _published(each: LogEffect, published: Sequence[PublishedRatio]) -> str:
    found = [known for known in published if known.is_like(each)]
    return "; ".join(f"{known.ratio:.2f}" for known in found) or "–"


def _nothing(cell: str) -> str:
    return "" if cell == "–" else f"published: {cell}"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _scaled(value: float | None, unit: float, places: int) -> str:
    return "–" if value is None else f"{value / unit:,.{places}f}"
