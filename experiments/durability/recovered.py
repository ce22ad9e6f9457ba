"""A recorded load, and its crash states: recovered, compared with the clients' ledger, explained, kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from redolab.crash.recovery.checked import CheckedRecovery
from redolab.disks.catalogue import storage_profile
from redolab.disks.disk_model import built_disk_model
from redolab.disks.profiles import ModelledDisk
from redolab.errorlog.files import arrivals_of
from redolab.lab import Lab
from redolab.machine import files
from redolab.powercut.cut_verdict import CutVerdict
from redolab.powercut.cuts import Cuts, DrawnCut, sampled_cuts, searched_cuts, without_cut
from redolab.powercut.explaining import Explanation, explained
from redolab.powercut.kept_cut import KeptCut, keep_cut
from redolab.powercut.ledger import Fault, judged
from redolab.powercut.recorded import RecordedLoad, WantedLoad, record
from redolab.powercut.recovering import StateContent, StateTask, recover_states
from redolab.powercut.states import DiskState, History
from redolab.progress import Stage
from redolab.runs.store import Run
from redolab.servers.dialects import Dialect, InstanceRequest, Purpose
from redolab.workloads.data import Clients, Defines
from redolab.workloads.ledger import LedgerWorkload

from .variations import Variation, variation_of

if TYPE_CHECKING:
    from .experiment import Conditions, Recording

_DISK = "consumer"
"""Storage profile whose latencies the recorded disk has."""
_NANOSECONDS = 1e9
_EVERY_FILE_SYSTEM = 50
"""The file system is checked in one state of this many."""


def recorded(
    lab: Lab, run: Run, group: Recording, conditions: Conditions, folder: Path, stage: Stage
) -> RecoveredStates:
    """Record the load of a group in a folder where files share blocks. Raises `LabError`."""
    wanted = _wanted_load(lab, group, conditions)
    load = record(lab, built_disk_model(lab), folder, wanted, stage)
    commits, changes, flushes = load.ledger.acknowledgements, load.recording.changes, load.recording.flushes
    stage.outcome = f"{len(commits):,} commits, {len(changes):,} writes, {len(flushes):,} flushes"
    variation = variation_of(group.variation)
    history = History(load.recording, volatile=variation.cache.volatile, obeys=variation.obeys)
    return RecoveredStates(lab, run, wanted, load, history, variation, conditions.jobs)


def _wanted_load(lab: Lab, group: Recording, conditions: Conditions) -> WantedLoad:
    """Return the load of a recording."""
    variation, server = variation_of(group.variation), lab.server(group.server)
    is_logged, profile = group.sync_binlog is not None, storage_profile(_DISK)
    assert isinstance(profile, ModelledDisk)
    request = InstanceRequest(
        purpose=Purpose.PRODUCTION,
        log_size=conditions.log_size,
        buffer_pool=conditions.pool,
        flush_log_at_trx_commit=group.trx_commit,
        binary_log=is_logged,
        sync_binlog=group.sync_binlog,
        overrides=(*variation.overrides, *(server.dialect.statements_in_binary_log if is_logged else ())),
    )
    return WantedLoad(
        server=server,
        workload=_workload(variation, server.dialect, request),
        request=request,
        clients=Clients(connections=conditions.clients),
        seconds=conditions.seconds,
        parameters=profile.parameters(),
        cache=variation.cache,
        file_system=variation.file_system,
        replica=variation.replica,
        window=variation.window,
    )


def _workload(variation: Variation, dialect: Dialect, request: InstanceRequest) -> LedgerWorkload:
    if variation.defines is Defines.NOTHING:
        return LedgerWorkload(about="", options=variation.table_options, xa=variation.xa)
    resized = [dialect.resizing(size).statement for size in (request.log_size // 2, request.log_size)]
    rotated = ["FLUSH BINARY LOGS"] if request.binary_log else []
    between = (*(each.rstrip(";") for each in resized if each is not None), *rotated)
    return LedgerWorkload(about="", options=variation.table_options, defines=variation.defines, between=between)


@dataclass(frozen=True, slots=True)
class RecoveredStates:
    """States of one recorded load, each recovered once."""

    lab: Lab
    run: Run
    wanted: WantedLoad
    load: RecordedLoad
    history: History
    variation: Variation
    jobs: int
    contents: dict[str, StateContent] = field(default_factory=dict)
    """Hash of a state → content of the server that recovered from it."""
    logged: set[str] = field(default_factory=set)
    """Steps that have kept a log."""

    def drawn(self, cuts: Cuts, count: int, seed: str) -> list[DrawnCut]:
        """Return cuts of the recording."""
        load = self.load
        match cuts:
            case Cuts.SAMPLED:
                return sampled_cuts(load.recording, load.began, load.ended, count, seed)
            case Cuts.SEARCHED:
                torn = self.variation.torn
                return searched_cuts(self.history, load.ledger, load.began, load.ended, count, seed, torn=torn)
            case Cuts.KILLED:
                return [without_cut(load.recording, load.killed)]
            case Cuts.MACHINE:
                raise AssertionError("no plan has it any more")

    def verdicts(self, drawn: Sequence[DrawnCut], logs: str) -> list[CutVerdict]:
        """Recover the states that cuts left. `logs` begins the names of their logs. Raises `LabError`."""
        states = [self.history.state(each.cut) for each in drawn]
        self._recover(states, logs)
        return [self._verdict(each, state) for each, state in zip(drawn, states, strict=True)]

    def _recover(self, states: Sequence[DiskState], logs: str, *, check_file_systems: bool = False) -> None:
        """Recover the states whose content is new."""
        new = {state.hash: state for state in states if state.hash not in self.contents}
        tasks = [
            StateTask(
                number=number,
                state=state,
                server=self.wanted.server,
                request=replace(self.wanted.request, purpose=Purpose.RECOVER),
                log=self.run.log(f"{logs}-{number:02}"),
                # A disk that ignores flushes breaks file systems too, which says nothing about servers.
                checks_file_system=self.variation.obeys
                and (check_file_systems or int(state.hash, 16) % _EVERY_FILE_SYSTEM == 0),
            )
            for number, state in enumerate(new.values(), start=1)
        ]

        def done(checked: CheckedRecovery[StateTask, StateContent]) -> None:
            self.contents[checked.task.state.hash] = checked.verdict
            # Thousands of logs would be alike: keep the first of a step whose server did not come up.
            if checked.verdict.is_sound or logs in self.logged:
                for file in (checked.task.log, arrivals_of(checked.task.log)):
                    files.remove(file)
            else:
                self.logged.add(logs)

        if tasks:
            workload = self.wanted.workload
            recover_states(self.lab, self.load, self.history, workload, tasks, self.jobs, done)

    def _verdict(self, drawn: DrawnCut, state: DiskState) -> CutVerdict:
        content = self.contents[state.hash]
        return CutVerdict(
            moment=drawn.moment,
            seconds=(drawn.time - self.load.began) / _NANOSECONDS,
            cut=drawn.cut,
            hash=state.hash,
            outcome=content.outcome,
            ledger=None if content.found is None else judged(self.load.ledger, drawn.time, content.found),
            failed=content.failed,
            said=content.said,
        )

    def explained(self, drawn: DrawnCut, verdict: CutVerdict, fault: Fault, tries: int, logs: str) -> CutVerdict:
        """Return a verdict with the fewest lost writes that show its fault. Raises `LabError`."""
        of_file_system = any(each.what.startswith(self.variation.file_system) for each in verdict.failed)

        def is_red(state: DiskState) -> bool:
            self._recover([state], f"{logs}-explained", check_file_systems=of_file_system)
            return fault in self._verdict(drawn, state).faults

        note = self.lab.progress.note
        note(f"a cut {drawn.moment} {fault}: looking for the fewest lost writes that do it")
        explanation = explained(self.history, drawn.cut, is_red, tries)
        note(f"{explanation.writes} of {explanation.taken} lost writes do it ({explanation.tried} states tried)")
        for line in explanation.words:
            note(f"  {line}")
        return msgspec.structs.replace(verdict, explanation=explanation)

    def keep(self, drawn: DrawnCut, verdict: CutVerdict, fault: Fault, what: str, folder: Path) -> None:
        """Keep a cut as a folder for `redolab recover`. Raises `LabError` if there is no room for it."""
        losses = self.history.losses(drawn.cut)
        whole = Explanation(place=drawn.cut.place, taken=len({each.number for each in losses}), losses=tuple(losses))
        kept = KeptCut(
            what=what,
            server=self.wanted.server.name,
            version=self.wanted.server.version,
            request=self.wanted.request,
            workload=self.wanted.workload,
            file_system=self.variation.file_system,
            cache=self.variation.cache,
            obeys=self.variation.obeys,
            began=self.load.began,
            ended=self.load.ended,
            killed=self.load.killed,
            time=drawn.time,
            fault=fault,
            explanation=verdict.explanation or whole,
        )
        keep_cut(kept, self.load, folder)
