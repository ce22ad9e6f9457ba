"""The page of durability: what power cuts lost, by how the server syncs, and the controls beside it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from redolab.report.contents import Page, Plot
from redolab.report.labels import server_label
from redolab.report.template import filled
from redolab.runs.machines import measured_on
from redolab.runs.store import Run

from ..cells import PLAIN, VARIATIONS
from ..plots import plot_lost
from ..promises import OLD, promise_of
from ..report import (
    controls_table,
    explained_tables,
    killed_tables,
    lost_table,
    replica_tables,
)
from ..results import CellResult, results
from ..trial import DurabilityTrial

_A_TENTH = 0.1
_UNSURE = 0.05
_OF_A_RUN = 10_000
"""More recordings of a cell than any run has."""
_TEMPLATE = Path(__file__).with_suffix(".md")
_REPLICAS = "[replicas](../durability.md#binary-log-and-replicas)"


def page(runs: Sequence[Run]) -> Page:
    """The page and its picture."""
    found = results([trial for number, run in enumerate(runs) for trial in _numbered(run, number)])
    shown = [each for each in found if not each.is_control]
    plain = [each for each in shown if each.cell.variation == PLAIN]
    # What everybody sets; another value that promises as much has a sentence of its own.
    promised = [each for each in shown if each.cell.trx_commit == 1 and promise_of(each.cell) is not None]
    values = {
        "promised": sum(len(each.verdicts) for each in promised),
        "plain": sum(len(each.verdicts) for each in promised if each in plain),
        "recordings": _recordings([each for each in promised if each in plain]),
        "promised_lost": sum(len(each.lost) for each in promised),
        "promised_broken": sum(each.broken for each in promised),
        "broken": [_broken(each) for each in promised if each.broken],
        "commit_two": _range([each for each in plain if each.cell.trx_commit == 2]),
        "commit_zero": _range([each for each in plain if each.cell.trx_commit == 0]),
        "risks": _risks(plain, shown),
        "settings": lost_table(plain).as_markdown(),
        "varied": [(name, VARIATIONS[name].about) for name in _varied(shown)],
        "past": [name for name in _varied(shown) if VARIATIONS[name].is_past],
        "varied_lost": lost_table([each for each in shown if each not in plain], with_terms=False).as_markdown(),
        "defining": [each for each in shown if each.defining],
        "explained": [table.as_markdown() for table in explained_tables(found)],
        "replicas": [table.as_markdown() for table in replica_tables(found)],
        "killed": [table.as_markdown() for table in killed_tables(found)],
        "controls": controls_table(found).as_markdown(),
        "not_red": [each for each in found if each.is_control and not each.has_red],
        "states": sum(each.distinct for each in found),
        "machines": measured_on(runs),
    }
    return Page(filled(_TEMPLATE, values), [Plot("lost", partial(plot_lost, cells=_drawn(found)))])


def _numbered(run: Run, number: int) -> list[DurabilityTrial]:
    """The trials of a run, whose recordings have numbers of their own among those of all runs."""
    trials = [record.trial for record in run.trials(DurabilityTrial)]
    return [msgspec.structs.replace(each, recording=_OF_A_RUN * number + each.recording) for each in trials]


def _recordings(cells: Sequence[CellResult]) -> str:
    """How many recordings these are, and how many of such at most lose something, where none did (exact, for no event of n)."""
    count = sum(each.recordings for each in cells)
    if not count or any(each.lost for each in cells):
        return ""
    servers = len({each.cell.server for each in cells})
    return f" (in {count} recordings of {servers} servers; at most {1 - _UNSURE ** (1 / count):.0%} of such lose a commit, 95 % sure)"


def _drawn(found: Sequence[CellResult]) -> list[CellResult]:
    """Those of servers of which every setting was looked at: of the others there is hardly a row."""
    whole = {each.cell.server for each in found if each.cell.trx_commit == 0}
    return [each for each in found if each.cell.server in whole]


def _varied(shown: Sequence[CellResult]) -> list[str]:
    """What was varied beside the settings, in its own order."""
    there = {each.cell.variation for each in shown}
    return [name for name in VARIATIONS if name in there and name != PLAIN]


def _risks(plain: Sequence[CellResult], shown: Sequence[CellResult]) -> list[str]:
    """A sentence for each way of syncing: what a power cut takes, and what a crash of the server alone."""
    found = []
    kept = [each for each in plain if each.cell.trx_commit == 1 and promise_of(each.cell) is not None]
    if kept:
        lost = _lost_of(kept, "with nothing else varied")
        found.append(
            f"**1, and the binary log off or `sync_binlog=1`**: a power cut loses {lost}, as the manuals promise."
        )
    apart = [each for each in plain if (each.cell.trx_commit, each.cell.sync_binlog) == (1, 0)]
    if apart:
        found.append(
            f"**1, and `sync_binlog=0`**: a power cut loses {_lost_of(apart)}{_further_back(apart, shown)}, though InnoDB has synced "
            f"each (bug 75519); afterwards {_ahead(apart)}."
        )
    old = [each for each in plain if each.cell.trx_commit == OLD]
    if old:
        found.append(f"**{OLD}, which MariaDB has, and the binary log on**: {'; '.join(_by_server(old))}.")
    for commit, alone in ((2, "a crash of the server alone loses nothing"), (0, "so does a crash of the server alone")):
        some = [each for each in plain if each.cell.trx_commit == commit]
        if some:
            lost = f"{_lost_of(some)}{_further_back(some, shown)}"
            found.append(f"**{commit}**: a power cut loses {lost}{_apart(some)}; {alone}{_killed(some)}.")
    return found


def _further_back(plain: Sequence[CellResult], shown: Sequence[CellResult]) -> str:
    """Return how far back cuts went that vary one thing more, under the same settings; empty if no further."""
    settings = {(each.cell.trx_commit, each.cell.sync_binlog) for each in plain}
    varied = [
        each
        for each in shown
        if (each.cell.trx_commit, each.cell.sync_binlog) in settings
        and each.cell.variation != PLAIN
        and not VARIATIONS[each.cell.variation].must_lose
    ]
    most = max((second for each in plain for second in each.seconds_back), default=0.0)
    further = max((each for each in varied if each.seconds_back), key=lambda each: max(each.seconds_back), default=None)
    if further is None or max(further.seconds_back) <= most:
        return ""
    return (
        f"; with one thing varied ({further.cell.variation}) those of up to the last {_time(max(further.seconds_back))}"
    )


def _by_server(cells: Sequence[CellResult]) -> list[str]:
    """What power cuts took, server by server."""
    servers: dict[str, list[CellResult]] = {}
    for each in cells:
        servers.setdefault(server_label(each.cell.server, each.version.split("-")[0]), []).append(each)
    return [f"of {label} a power cut loses {_lost_of(own)}" for label, own in servers.items()]


def _apart(cells: Sequence[CellResult]) -> str:
    """Which of binary log, though it was synced, and tables was ahead; empty where no binary log was on."""
    synced = [each for each in cells if each.cell.sync_binlog == 1]
    return f"; with `sync_binlog=1` {_ahead(synced)}" if synced else ""


def _ahead(cells: Sequence[CellResult]) -> str:
    """After how many cuts the binary log held what the tables had lost, and the other way round."""
    counts = [
        ("the binary log held transactions that the tables lacked", sum(each.binary_log_ahead for each in cells)),
        ("the tables held transactions that the binary log lacked", sum(each.tables_ahead for each in cells)),
    ]
    told = [f"{what} after {_share(count, cells)}" for what, count in counts if count]
    return f"{' and '.join(told)} ({_REPLICAS})" if told else "binary log and tables held the same"


def _broken(cell: CellResult) -> str:
    """How many cuts of a cell left it broken."""
    label = server_label(cell.cell.server, cell.version.split("-")[0])
    said = next((each.ledger.misdefined for each in cell.verdicts if each.ledger and each.ledger.misdefined), "")
    at_random = sum(each.is_broken for each in cell.sampled)
    many = f"{cell.broken} of {len(cell.verdicts)} cuts, {at_random} of the {len(cell.sampled)} at random moments"
    return f"{label}, {cell.cell.in_words}: {many}{f' ({said})' if said else ''}"


def _lost_of(cells: Sequence[CellResult], which: str = "") -> str:
    """What power cuts took of these cells; `which` they are, where nothing was lost."""
    states = [each for cell in cells for each in cell.verdicts]
    lost = [each for cell in cells for each in cell.lost]
    if not lost:
        return f"nothing that was acknowledged ({len(states):,} cuts{f' {which}' if which else ''})"
    back = [each for cell in cells for each in cell.seconds_back]
    return (
        f"the commits of up to the last {_time(max(back))}, {max(lost):,} at most ({_share(len(lost), cells)} lost some, half of these "
        f"{statistics.median(lost):,.0f} or more)"
    )


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= _A_TENTH else f"{1000 * seconds:.0f} ms"


def _share(count: int, cells: Sequence[CellResult]) -> str:
    return f"{count:,} of {sum(len(each.verdicts) for each in cells):,} cuts"


def _killed(cells: Sequence[CellResult]) -> str:
    killed = [each for cell in cells for each in cell.killed]
    return f" ({sum(each.is_lost for each in killed)} of {len(killed)} kills lost some)" if killed else ""


def _range(cells: Sequence[CellResult]) -> str:
    """Up to how long before the cut commits were taken back, as in `0.8 s`; `nothing` where none was."""
    back = [second for each in cells for second in each.seconds_back]
    return f"up to {max(back):.1f} s" if back else "nothing"
