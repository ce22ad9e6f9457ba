"""The page of what others would set: their rules beside ours, for three typical servers on two volumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.models.sizing import Limits
from redolab.report.contents import Page, Plot
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.report.template import filled
from redolab.results.committed import LEARNED_FROM
from redolab.runs.store import Run
from redolab.servers.dialects import Version, dialect_of
from redolab.sizing.advising import Moment
from redolab.sizing.asking import model_of
from redolab.sizing.calibration import Calibration, shipped_calibration
from redolab.sizing.compare import Compared, compared, compared_table
from redolab.sizing.demand import Demand
from redolab.sizing.question import Question
from redolab.sizing.rules import ServerFacts, published_rules
from redolab.sizing.trade import shipped_trades
from redolab.units import GIB, format_duration, format_size

RUNS = LEARNED_FROM
"""Folders of the runs that the calibration was learned from."""
_TEMPLATE = Path(__file__).with_suffix(".md")
_SERVER = "mysql-9"
_LIMITS = Limits(rto=300.0)
_STORAGES = {"cloud-ssd": "gp3-3000", "cloud-ssd-fast": "gp3-16000"}
"""Name in the calibration → name by its operations a second."""
_WAVE = 0.8
"""Of the mean: redo follows a sine by the day, so that the peak is 1.8 times the mean."""
_INFLATION = 3.33
"""Bytes of Innodb_os_log_written for each byte of LSN: MySQL 9.7.4 with one client and short rows (docs/results/inflation.md)."""
_PMM_SHARE = 0.94
_TICKS = (10, 30, 60, 300, 900, 3600, 14_400)


@dataclass(frozen=True, slots=True)
class _Typical:
    """A server; bytes, and bytes an hour."""

    cpus: int
    memory: int
    peak: int

    @property
    def pool(self) -> int:
        """Three quarters of the memory, as innodb_dedicated_server and many DBAs have it."""
        return self.memory * 3 // 4

    @property
    def label(self) -> str:
        """Return it as in `4 CPUs, 16G`."""
        return f"{self.cpus} CPUs, {format_size(self.memory)}"

    def hours_below(self, share: float) -> float:
        """Return the bytes an hour that this share of the hours of a day write less than."""
        return self.mean * (1 + _WAVE * math.sin(math.pi * (share - 0.5)))

    @property
    def mean(self) -> float:
        """Mean of the day."""
        return self.peak / (1 + _WAVE)


_TYPICAL = (_Typical(4, 16 * GIB, 3 * GIB), _Typical(16, 128 * GIB, 12 * GIB), _Typical(32, 256 * GIB, 40 * GIB))


@dataclass(frozen=True, slots=True)
class _Case:
    """A server on a volume, and what each rule comes to."""

    server: _Typical
    storage: str
    found: Sequence[Compared]


def page(_: Sequence[Run]) -> Page:
    """Return the page and its picture, by the calibration that was learned from the runs."""
    calibration = shipped_calibration()
    cases = [_case(calibration, server, storage) for server in _TYPICAL for storage in _STORAGES]
    names = list(dict.fromkeys(each.rule for case in cases for each in case.found))
    late = {name: [case for case in cases if _of(case, name).in_time is False] for name in names}
    others = [name for name in names if name != "redolab"]
    rules = {rule.name: rule for rule in published_rules()}
    values = {
        "always": _listed([name for name in others if len(late[name]) == len(cases)]),
        "sometimes": _listed([name for name in others if 0 < len(late[name]) < len(cases)]),
        "never": _listed([name for name in names if not late[name]]),
        "chance": f"{100 * _LIMITS.chance:.0f} %",
        "version": calibration.servers[_SERVER].version.partition("-")[0],
        "throughput_is_known": any(each.line and each.line.lost for case in cases for each in case.found),
        "tables": [
            (
                f"{case.server.label} of memory, {_STORAGES[case.storage]}",
                f"Pool {format_size(case.server.pool)}, {format_size(case.server.peak)} of redo in the busiest hour.",
                compared_table(case.found, _LIMITS, "", Moment.WORST).as_markdown(),
            )
            for case in cases
        ],
        "rules": [rules[name] for name in others if name in rules],
        "inflation": f"{_INFLATION:.2f}",
        "wave": f"{1 + _WAVE:.1f}",
        "storages": list(_STORAGES.items()),
        "machine": f"{calibration.machine.in_words()}, {calibration.machine.system}",
    }
    return Page(filled(_TEMPLATE, values), [Plot("bounds", partial(_plot, cases=cases, names=names))])


def _case(calibration: Calibration, server: _Typical, storage: str) -> _Case:
    dialect = dialect_of("mysql", Version.parse(calibration.servers[_SERVER].version))
    question = Question(
        server=_SERVER,
        storage=storage,
        pool=server.pool,
        read_threads=dialect.default_read_threads(server.cpus),
    )
    facts = ServerFacts(
        pool=server.pool,
        os_log_written=_INFLATION * server.mean,
        os_log_written_hours=_INFLATION * server.hours_below(_PMM_SHARE),
        cpus=server.cpus,
        memory=server.memory,
    )
    demand = Demand(redo_per_hour=float(server.peak), source="as given")
    model = model_of(question, calibration, storage)
    return _Case(server, storage, compared(model, demand, _LIMITS, facts, trades=shipped_trades(), moment=Moment.WORST))


def _of(case: _Case, name: str) -> Compared:
    return next(each for each in case.found if each.rule == name)


def _listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _plot(folder: Path, cases: Sequence[_Case], names: Sequence[str]) -> None:
    """The upper bound of the recovery time by each rule, against the time that it may take: `bounds.svg`, `.png`."""
    figure, panels = plt.subplots(2, 3, figsize=(WIDTH, 5.6), sharex=True, sharey=True, layout="constrained")
    shown = list(reversed(names))
    for case, axes in zip([*cases[::2], *cases[1::2]], panels.flat, strict=True):
        lines = [_of(case, name).line for name in shown]
        for place, (name, line) in enumerate(zip(shown, lines, strict=True)):
            if line is not None:
                color = MEASURED if name == "redolab" else LIMIT if not _of(case, name).in_time else MODEL
                axes.plot([line.recovery_s, line.ninety.high_s], [place, place], color=color, marker="|")
        axes.axvline(_LIMITS.rto, color=MODEL, linestyle="--", linewidth=1)
        axes.set_xscale("log")
        axes.set_xticks(_TICKS, [format_duration(tick) for tick in _TICKS], rotation=60, fontsize="x-small")
        axes.minorticks_off()
        axes.set_yticks(range(len(shown)), shown, fontsize="x-small")
        axes.set_title(f"{case.server.label}, {_STORAGES[case.storage]}", fontsize="x-small", loc="left")
    head(figure, "Recovery with the log full, by whoever sets its size: typical to the 95 % upper bound", "")
    save(figure, folder / "bounds")
