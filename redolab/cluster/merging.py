"""What machines measured becomes one run: a group whole, or with what of it failed; exactly once, with the session of its machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from redolab.cluster.address import check_worker_name
from redolab.errors import LabError
from redolab.machine import files
from redolab.runs.machines import MACHINES
from redolab.runs.plan import Plan
from redolab.runs.schema import FailureRecord, GroupRecord, Session, TrialRecord
from redolab.runs.store import Run

_LINES = ".jsonl"
_MERGED_LAST = ("trials", "groups", "failed")
OF_THE_GROUP = (*_MERGED_LAST, "verdicts", "warm")
"""Stems of the lines that are the group's; all others hold for its machine."""
_LOGS = ("logs", "failed")
"""What of a group that failed is kept."""


def groups_merged_whole(run: Run, plan: Plan[Any, Any, Any]) -> set[int]:
    """The groups of which every step is measured."""
    measured: dict[int, set[int]] = {}
    for record in run.trials(object):
        measured.setdefault(record.group, set()).add(record.position)
    return {group for group, positions in measured.items() if positions >= set(plan.positions(group))}


class Merging:
    """A run that groups are merged into as they arrive."""

    def __init__(self, run: Run, plan: Plan[Any, Any, Any]) -> None:
        self._run = run
        self._plan = plan
        self._own = len(run.record().sessions) - 1
        """The session of the command that asks; those of machines come behind it."""

    def merge(self, group: int, arrived: Run) -> bool:
        """Take over what a machine measured of a group; False if the run has it already. Raises `LabError` if a step is just missing."""
        if group in groups_merged_whole(self._run, self._plan):
            return False
        trials = _only(arrived.lines("trials", TrialRecord[Any]), group, arrived)
        groups = _only(arrived.lines("groups", GroupRecord), group, arrived)
        failures = _only(arrived.lines("failed", FailureRecord), group, arrived)
        if not failures and sorted(each.position for each in trials) != self._plan.positions(group):
            raise LabError(
                f"{_machine(arrived)} measured {len(trials)} of {len(self._plan.positions(group))} steps of group {group + 1}",
                "look at what it printed",
            )
        self._copy_files(arrived)
        session = self._session(arrived.record().sessions[-1])
        before = self._run.groups().get(group)
        attempt = 1 if before is None else before.attempt + 1
        self._add_lines(arrived, session, attempt)
        if groups:
            self._run.add_group(msgspec.structs.replace(groups[-1], session=session, attempt=attempt))
        for failure in failures:
            self._run.add_failure(msgspec.structs.replace(failure, session=session, attempt=attempt))
        # The trials last, and at once: until they are there nothing of the group counts.
        self._run.add_trials([msgspec.structs.replace(each, session=session, attempt=attempt) for each in trials])
        return True

    def keep_check(self, arrived: Run) -> None:
        """Keep the run of a machine's check cell, beside an earlier one of the same machine."""
        name, number = _machine(arrived), 1
        folder = self._run.folder / MACHINES / name
        while folder.exists():
            number += 1
            folder = folder.with_name(f"{name}-{number}")
        files.move(arrived.folder, folder)

    def keep_failed_run(self, arrived: Run) -> None:
        """Keep the logs of a group that failed on a machine: its error speaks of them."""
        for path in sorted(arrived.folder.rglob("*")):
            relative = path.relative_to(arrived.folder)
            to = self._run.folder / "failed" / _machine(arrived) / relative
            if path.is_file() and relative.parts[0] in _LOGS and not to.exists():
                files.move(path, to)

    def _copy_files(self, arrived: Run) -> None:
        for path in sorted(arrived.folder.rglob("*")):
            relative = path.relative_to(arrived.folder)
            is_own = len(relative.parts) == 1 and (path.suffix == _LINES or path.name in ("run.json", "plan.json"))
            if not path.is_file() or is_own:
                continue
            to, content = self._run.folder / relative, path.read_bytes()
            if not to.exists():
                files.write_whole(to, content)
            elif to.read_bytes() != content:
                raise LabError(f"{_machine(arrived)} sends another {relative} than the run has", "start a new run")

    def _session(self, session: Session) -> int:
        """The position of the machine's session in the run's record; its stages' seconds add up."""
        check_worker_name(session.address)
        record = self._run.record()
        sessions = list(record.sessions)
        for position in range(self._own + 1, len(sessions)):
            known = sessions[position]
            if (known.identity, known.commit) == (session.identity, session.commit):
                seconds = _added(known.seconds, session.seconds)
                sessions[position] = msgspec.structs.replace(known, seconds=seconds)
                break
        else:
            position = len(sessions)
            sessions.append(session)
        self._run.write_record(msgspec.structs.replace(record, sessions=sessions))
        return position

    def _add_lines(self, arrived: Run, session: int, attempt: int) -> None:
        """What an experiment has noted besides: a line that the run has already came with an earlier group of the machine."""
        for path in sorted(arrived.folder.glob(f"*{_LINES}")):
            name = path.name.removesuffix(_LINES)
            if name in _MERGED_LAST:
                continue
            known = self._run.lines(name, dict)
            for line in arrived.lines(name, dict):
                here = {"session": session, "attempt": attempt}
                of_here = {**line, **{what: value for what, value in here.items() if what in line}}
                if of_here not in known:
                    self._run.add_line(name, of_here)
                    known.append(of_here)


def _only(records: Sequence[Any], group: int, arrived: Run) -> Sequence[Any]:
    if any(record.group != group for record in records):
        raise LabError(f"{_machine(arrived)} sent something else than group {group + 1}", "look at what it printed")
    return records


def _machine(arrived: Run) -> str:
    return check_worker_name(arrived.record().sessions[-1].address)


def _added(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {kind: one.get(kind, 0.0) + other.get(kind, 0.0) for kind in {**one, **other}}
