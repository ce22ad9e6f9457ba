"""Report of a settings run: the answer, the table and the picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial

from redolab.models.intervals import SHARE, Ratio
from redolab.report.contents import Plot, Report
from redolab.report.labels import server_label
from redolab.report.table import PAGE, SCREEN, Column, ReportTable
from redolab.results.marks import Off, disks_of, marks_of, storage_label, storage_remarks
from redolab.runs.store import Run
from redolab.units import MIB, format_size
from redolab.workloads.catalogue import workload_catalogue

from .changes import LARGE_ROWS, STORM, TPCC, Skipped
from .effects import SettingEffect, effects, measured_in, skipped_in
from .plots import plot_effects

_TOLD = 4
"""Number of levels of each load that the answer names."""
_LOADS = {TPCC: "TPC-C", LARGE_ROWS: "large rows", STORM: "storm"}
"""Loads in the order of the answer: the one most similar to production comes first."""
_WIDE = 100
_MAY_BE_CHANCE = "?"


def report(run: Run) -> Report:
    """Return the answer, the table and the picture of a run."""
    found = effects(measured_in([run]))
    if not found:
        return Report(answer="No setting was compared with its baseline.", tables=[])
    off = marks_of([run])
    disks, of_disks = disks_of(run)
    return Report(
        answer=answer(found),
        tables=[settings_table(found, skipped_in([run]), off)],
        details=[settings_table(found, skipped_in([run]), off, PAGE), *disks],
        rows={"table": row_dictionaries(found), **of_disks},
        plots=plots(found),
    )


def plots(found: Sequence[SettingEffect]) -> list[Plot]:
    """Return the picture of the effects, a panel a server."""
    return [Plot("effects", partial(plot_effects, servers=drawn(found), title=title(found)))]


def answer(found: Sequence[SettingEffect]) -> str:
    """Return the largest changes of throughput by server and load, and the number of levels without a significant one.

    For example `MySQL 9.7.4: throughput: TPC-C -24% with log_bin=on; large rows -97% with innodb_log_buffer_size=1M;
    …`.
    """
    parts = []
    for label, own in _by_server(found).items():
        compared, told = _compared(own), _resolved_effects(own)
        if not compared:
            parts.append(f"{label}: nothing was measured often enough to separate an effect from chance.")
            continue
        if not told:
            parts.append(f"{label}: none of {compared} levels changed throughput measurably.")
            continue
        parts.append(
            f"{label}: throughput: {_most(told, _TOLD)}; {compared - len(told)} of {compared} levels changed it by no more "
            "than chance may."
        )
    return " ".join(parts)


def _most(told: Sequence[tuple[SettingEffect, Ratio]], levels: int) -> str:
    """Return the largest effects, `levels` for each load."""
    return "; ".join(
        f"{name} " + ", ".join(_in_brief(*each) for each in of_load[:levels])
        for name, of_load in _by_load(told).items()
    )


def _by_load(told: Sequence[tuple[SettingEffect, Ratio]]) -> Mapping[str, Sequence[tuple[SettingEffect, Ratio]]]:
    """Return name of the load → its effects, in the given order."""
    loads = dict.fromkeys([*_LOADS, *(each.load for each, _ in told)])
    by_load = {_LOADS.get(load, load): [pair for pair in told if pair[0].load == load] for load in loads}
    return {name: of_load for name, of_load in by_load.items() if of_load}


def title(found: Sequence[SettingEffect]) -> str:
    """Return the largest effect of each load, or of the first load for several servers: the first row of each panel."""
    servers = _by_server(found)
    if len(servers) == 1:
        ((label, own),) = servers.items()
        return f"{label}: throughput: {_most(told, 1)}" if (told := _resolved_effects(own)) else answer(found)
    first = {
        label: next(
            (f"{_in_brief(*most[0])} ({name})" for name, most in _by_load(_resolved_effects(own)).items()),
            "with none that could be measured",
        )
        for label, own in servers.items()
    }
    return "Throughput changed the most: " + "; ".join(f"{label} {most}" for label, most in first.items())


def drawn(found: Sequence[SettingEffect]) -> Mapping[str, Sequence[SettingEffect]]:
    """Return server → its effects in the order of the title: by load, the largest significant effect on throughput
    first.
    """
    loads = list(dict.fromkeys([*_LOADS, *(each.load for each in found)]))

    def order(each: SettingEffect) -> tuple[int, bool, float]:
        ratio = each.throughput
        stands = ratio is not None and each.throughput_stands
        return loads.index(each.load), not stands, -_strength(ratio) if ratio and stands else -each.size

    return {label: sorted(own, key=order) for label, own in _by_server(found).items()}


def _strength(ratio: Ratio) -> float:
    """Return the size of a change on a logarithmic scale, where halving and doubling are equal."""
    return abs(math.log1p(ratio.change))


def _by_server(found: Sequence[SettingEffect]) -> Mapping[str, Sequence[SettingEffect]]:
    """Return server and version, and the machine if there are several → its effects."""
    several = len({each.machine for each in found}) > 1
    servers: dict[str, list[SettingEffect]] = {}
    for each in found:
        label = server_label(each.server, each.version) + f" on {each.machine}" * several
        label += f", {each.apart}" if each.apart else ""
        servers.setdefault(label, []).append(each)
    return servers


def _compared(found: Sequence[SettingEffect]) -> int:
    """Return the number of levels with an interval of throughput."""
    return sum(_is_known(each.throughput) for each in found)


def _resolved_effects(found: Sequence[SettingEffect]) -> list[tuple[SettingEffect, Ratio]]:
    """Return the levels whose change of throughput is significant, the largest first."""
    told = [(each, each.throughput) for each in found if each.throughput is not None and each.throughput_stands]
    return sorted(told, key=lambda pair: -_strength(pair[1]))


def _in_brief(each: SettingEffect, ratio: Ratio) -> str:
    """Return words as in `-5% with innodb_flush_method=fsync`, shorter than a table's."""
    name, _, of_what = each.setting.partition(", ")
    return f"{ratio.change:+.0%} with {name}={each.level.partition(',')[0]}" + (f" ({of_what})" if of_what else "")


def _is_known(ratio: Ratio | None) -> bool:
    """Return True if there is an interval."""
    return ratio is not None and not math.isnan(ratio.low)


def settings_table(
    found: Sequence[SettingEffect], left_out: Mapping[str, Sequence[Skipped]], off: Off, widest: int = SCREEN
) -> ReportTable:
    """Return a table with a row for each level, the largest effect first, of at most `widest` characters."""
    columns = [
        *(
            [Column[SettingEffect]("machine", lambda each: each.machine)]
            if len({each.machine for each in found}) > 1
            else []
        ),
        Column[SettingEffect]("server", lambda each: server_label(each.server, each.version), shared=str),
        Column[SettingEffect]("storage", lambda each: storage_label(each, off), shared="on {}".format),
        Column[SettingEffect]("load", lambda each: _LOADS.get(each.load, each.load)),
        *([Column[SettingEffect]("baseline", lambda each: each.apart)] if any(each.apart for each in found) else []),
        Column[SettingEffect]("setting", lambda each: each.setting),
        Column[SettingEffect]("from", lambda each: each.baseline),
        Column[SettingEffect]("to", _level),
        Column[SettingEffect]("throughput", _throughput, right=True),
        Column[SettingEffect]("recovery", lambda each: _in_words(each.recovery, each.recovery_stands), right=True),
        Column[SettingEffect]("ready, s", lambda each: _pair(each.base_ready, each.ready), right=True, spare=True),
        Column[SettingEffect]("p95, ms", lambda each: _pair(each.base_latency, each.latency), right=True, spare=True),
        Column[SettingEffect](
            "failed/s", lambda each: f"{each.failed:,.0f}", right=True, shared=_no_failures, spare=True
        ),
        Column[SettingEffect](
            "log waits", lambda each: _pair(each.base_log_waits, each.log_waits), right=True, spare=True
        ),
        Column[SettingEffect](
            "processors", lambda each: _pair(each.base_cpu, each.cpu, "{:.0%}".format), right=True, spare=True
        ),
        Column[SettingEffect](
            "log filled",
            lambda each: f"{each.fillings:.1f}×" if each.fillings is not None else "–",
            right=True,
            spare=True,
        ),
        Column[SettingEffect]("blocks", lambda each: str(each.blocks), right=True, shared=_blocks, spare=True),
    ]
    comparisons = sum(not math.isnan(chance) for each in found for chance in each.chances)
    notes = [
        "Each setting changed alone from the baseline of its load; effects on throughput (TPC-C: NOTPM; large rows and storm: "
        "transactions and connections a second) and on the time to ready after a crash at the load's end, with 95 % intervals, "
        "against the baseline in the same blocks. Pairs: baseline → this level. log filled: how often in the load; a log filled "
        "less than once never forced flushing, and a load that wrote less redo leaves less to recover.",
        f"{_MAY_BE_CHANCE}: the interval leaves out 0, but among {comparisons} comparisons chance alone may have shown it (Holm's "
        f"procedure, {100 * (1 - SHARE):.0f} %); sentence and picture leave it out.",
        *(
            f"{server_label(server, next(each.version for each in found if each.server == server))} was not measured with "
            f"{each.setting}: {each.why}."
            for server, of_server in left_out.items()
            for each in of_server
            if any(effect.server == server for effect in found)
        ),
        *(
            caveat
            for load in dict.fromkeys(each.load for each in found)
            for caveat in workload_catalogue().get(load).caveats
        ),
        *storage_remarks(found, off),
    ]
    return ReportTable.brief("Settings, one at a time", found, columns, notes, widest)


def _in_words(ratio: Ratio | None, stands: bool) -> str:
    if ratio is None:
        return "–"
    return ratio.in_words() + _MAY_BE_CHANCE * (ratio.excludes_zero and not stands)


def row_dictionaries(found: Sequence[SettingEffect]) -> list[dict[str, object]]:
    """Return the rows as dictionaries for CSV and Parquet."""
    rows = []
    for each in found:
        flat = asdict(each)
        for name in ("throughput", "recovery"):
            ratio = flat.pop(name)
            for part in ("change", "low", "high"):
                flat[f"{name}_{part}"] = None if ratio is None else ratio[part]
        rows.append(flat)
    return rows


def _level(each: SettingEffect) -> str:
    if each.used is None or each.same_used:
        return each.level
    bytes_used = each.used.isdigit() and int(each.used) >= MIB
    return f"{each.level} (used {format_size(int(each.used)) if bytes_used else each.used})"


def _throughput(each: SettingEffect) -> str:
    if each.same_used:
        return f"not in effect: the server used {each.used}"
    if not each.rate:
        return "nothing succeeded"
    return _in_words(each.throughput, each.throughput_stands) + (
        f", nothing in {each.barren} of {each.loads}" if each.barren else ""
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WIDE else f"{value:.3g}"


def _pair(before: float | None, after: float | None, written: Callable[[float], str] = _number) -> str:
    if before is None or after is None:
        return "–"
    return f"{written(before)} → {written(after)}"


def _blocks(count: str) -> str:
    return "a single block" if count == "1" else f"{count} blocks"


def _no_failures(count: str) -> str:
    return "nothing failed" if count == "0" else f"{count} failed a second"
