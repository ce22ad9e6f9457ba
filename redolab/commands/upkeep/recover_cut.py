"""Recovery of a kept power cut, by the same server or by another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from redolab.errors import FindingsMade
from redolab.lab import open_lab
from redolab.powercut.kept_cut import KeptCut, load_of, read_kept_cut
from redolab.powercut.ledger import LedgerVerdict, faults_of, judged
from redolab.powercut.recorded import cut_room
from redolab.powercut.recovering import StateContent, StateTask, recover_states
from redolab.powercut.states import History
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.dialects import Purpose

_LOG = "recovered-again.log"


def recover_cut(folder: Path, server: str | None, progress: Progress) -> None:
    """Recover the state of a kept cut that loses only the necessary writes, and print its content.

    Raises `LabError`, and `FindingsMade` for an anomaly.
    """
    kept = read_kept_cut(folder)
    with open_lab(progress, RunStore().clear_unfinished) as lab, cut_room(lab) as room:
        recovering = lab.server(server or kept.server)
        load = load_of(kept, folder, room)
        history = History(load.recording, volatile=kept.cache.volatile, obeys=kept.obeys)
        task = StateTask(
            number=1,
            state=history.state_without(kept.explanation.place, kept.explanation.losses),
            server=recovering,
            request=replace(kept.request, purpose=Purpose.RECOVER),
            log=folder / _LOG,
            checks_file_system=kept.obeys,
        )
        found: list[StateContent] = []
        recover_states(lab, load, history, kept.workload, [task], 1, lambda checked: found.append(checked.verdict))
        (content,) = found
        verdict = None if content.found is None else judged(load.ledger, kept.time, content.found)
        _say(kept, content, verdict, f"{recovering.name} {recovering.version}", progress)
        if kept.fault in faults_of(verdict, content.failed):
            raise FindingsMade(f"{folder}: it is so again", f"{folder / _LOG} is the error log of this recovery")
        progress.note(f"{recovering.name} {recovering.version} recovers from it without that")


def _say(
    kept: KeptCut, content: StateContent, verdict: LedgerVerdict | None, recovered_by: str, progress: Progress
) -> None:
    progress.note(f"kept: {kept.what}")
    for line in kept.explanation.words:
        progress.note(f"  lost: {line}")
    progress.note(f"recovered by {recovered_by}: {content.outcome}")
    if verdict is not None:
        progress.note(
            f"  {verdict.acknowledged:,} acknowledged, {verdict.lost:,} lost, {verdict.holes} holes, {verdict.torn} torn, "
            f"{verdict.wrong} wrong, {verdict.only_in_tables} only in tables, {verdict.only_in_binary_log} only in the binary log"
        )
        if verdict.misdefined:
            progress.note(f"  the table that a client defines: {verdict.misdefined}")
    for check in content.failed:
        progress.note(f"  {check.what}: {check.found} instead of {check.expected}")
    for line in content.said:
        progress.note(f"  {line}")
