"""Merging of machines' results into one run: whole groups or their failures, once each, with their session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from redolab.errors import LabError
from redolab.machine import files
from redolab.machines.cluster.dask import check_worker_name
from redolab.runs.plan import Plan
from redolab.runs.schema import Session
from redolab.runs.store import Run

GROUP_LINES = ("verdicts", "warm", "groups", "failed", "trials")
"""Stems of the lines that are the group's, in the order of merging; all others hold for its machine."""


def groups_merged_whole(run: Run, plan: Plan[Any, Any, Any]) -> set[int]:
    """Return the groups of which every step is measured."""
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
        """Session of the command that asks; those of machines follow it."""

    def merge(self, group: int, arrived: Run) -> None:
        """Merge a machine's results of a group, unless it is whole already. Raises `LabError` if a step is missing."""
        if group in groups_merged_whole(self._run, self._plan):
            return
        stems = sorted({path.stem for path in arrived.folder.glob("*.jsonl")} - set(GROUP_LINES))
        lines = {name: arrived.lines(name, dict) for name in (*stems, *GROUP_LINES)}
        self._check(group, _machine(arrived), lines)
        self._copy_files(arrived)
        before = self._run.groups().get(group)
        here = {
            "session": self._session(arrived.record().sessions[-1]),
            "attempt": 1 if before is None else before.attempt + 1,
        }
        # The trials last: until they are there nothing of the group counts.
        for name, added in lines.items():
            known = self._run.lines(name, dict)
            for line in added:
                of_here = {**line, **{what: value for what, value in here.items() if what in line}}
                # Facts about a machine came with an earlier group of it already.
                if of_here not in known:
                    self._run.add_line(name, of_here)

    def _check(self, group: int, machine: str, lines: Mapping[str, list[dict[str, Any]]]) -> None:
        groups = {line["group"] for name in ("groups", "failed", "trials") for line in lines[name]}
        if groups - {group}:
            raise LabError(f"{machine} sent something else than group {group + 1}", "look at what it printed")
        wanted = self._plan.positions(group)
        if not lines["failed"] and sorted(line["position"] for line in lines["trials"]) != wanted:
            raise LabError(
                f"{machine} measured {len(lines['trials'])} of {len(wanted)} steps of group {group + 1}",
                "look at what it printed",
            )

    def keep(self, arrived: Run, under: str) -> None:
        """Keep a whole run of a machine: its check configuration, or a failed group whose logs its error names."""
        name, number = _machine(arrived), 1
        folder = self._run.folder / under / name
        while folder.exists():
            number += 1
            folder = folder.with_name(f"{name}-{number}")
        files.move(arrived.folder, folder)

    def _copy_files(self, arrived: Run) -> None:
        for path in sorted(arrived.folder.rglob("*")):
            relative = path.relative_to(arrived.folder)
            is_own = len(relative.parts) == 1 and (path.suffix == ".jsonl" or path.name in ("run.json", "plan.json"))
            if not path.is_file() or is_own:
                continue
            to, content = self._run.folder / relative, path.read_bytes()
            if not to.exists():
                files.write_whole(to, content)
            elif to.read_bytes() != content:
                raise LabError(f"{_machine(arrived)} sends another {relative} than the run has", "start a new run")

    def _session(self, session: Session) -> int:
        """Return the position of the machine's session in the run's record; its stages' seconds add up."""
        record = self._run.record()
        sessions = list(record.sessions)
        for position in range(self._own + 1, len(sessions)):
            known = sessions[position]
            if (known.identity, known.commit) == (session.identity, session.commit):
                kinds = {**known.seconds, **session.seconds}
                seconds = {kind: known.seconds.get(kind, 0.0) + session.seconds.get(kind, 0.0) for kind in kinds}
                sessions[position] = msgspec.structs.replace(known, seconds=seconds)
                break
        else:
            position = len(sessions)
            sessions.append(session)
        self._run.write_record(msgspec.structs.replace(record, sessions=sessions))
        return position


def _machine(arrived: Run) -> str:
    return check_worker_name(arrived.record().sessions[-1].address)
