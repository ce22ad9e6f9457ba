"""Records a load for each group of the plan, and recovers the states that power cuts of it could have left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
from typing_extensions import override

from redolab.errorlog.arrivals import arrivals_of
from redolab.errors import DiskFull, LabError
from redolab.lab import Lab
from redolab.machine import files
from redolab.powercut.cuts import DrawnCut, sampled_cuts, searched_cuts, without_cut
from redolab.powercut.explaining import Explanation, explained
from redolab.powercut.kept_cut import KeptCut, keep_cut
from redolab.powercut.ledger import Fault, judged
from redolab.powercut.recorded import RecordedLoad, WantedLoad, cut_room, record
from redolab.powercut.recovering import StateContent, StateTask, recover_states
from redolab.powercut.states import DiskState, History
from redolab.records.dataset import DatasetSpec
from redolab.recoveries.checked import CheckedRecovery
from redolab.runs.needs import Needs
from redolab.runs.old_bench import Measured, OldBench
from redolab.runs.plan import Planned
from redolab.runs.schema import Finding
from redolab.runs.store import Run
from redolab.servers.dialects import Dialect, InstanceRequest, Purpose
from redolab.storage.catalogue import storage_profile
from redolab.storage.disk_model import built_disk_model
from redolab.storage.place import FULL
from redolab.storage.profiles import ModelledDisk
from redolab.units import GIB, MIB
from redolab.workloads.data import Clients, Defines
from redolab.workloads.ledger import LedgerWorkload

from .cells import VARIATIONS, Cell, Variation
from .planned import DurabilityConditions, DurabilityPlan, PlannedCuts, PlannedRecording
from .promises import findings, sentence, unexpected
from .trial import Cuts, CutVerdict, DurabilityTrial

_DISK = "consumer"
"""The storage profile whose times the recorded disk has."""
_ROOM = 6 * GIB
"""What a recording and the states of it that are there at once take."""
_NANOSECONDS = 1e9
_EVERY_FILE_SYSTEM = 50
"""Of so many states recovered the file system of one is looked at."""


@dataclass(slots=True)
class _Recorded:
    """The recording at hand, and what its states were found to hold."""

    load: RecordedLoad
    history: History
    wanted: WantedLoad
    contents: dict[str, StateContent] = field(default_factory=dict)


class DurabilityBench(OldBench[PlannedRecording, PlannedCuts, DurabilityTrial]):
    """The bench of power cuts of one recorded load."""

    brief = True
    trials_stand_alone = True

    def __init__(self, lab: Lab, plan: DurabilityPlan) -> None:
        super().__init__(lab, plan)
        self._lab = lab
        self._plan = plan
        self._room: Path | None = None
        self._recorded: _Recorded | None = None
        self._explained: set[tuple[Cell, Fault]] = set()
        self._recovered = 0
        self._logged: set[str] = set()
        """The steps of which a log is kept."""
        self._kept: set[tuple[Cell, bool]] = set()
        """Of which cells a cut is kept as a folder: one that is a finding, or another."""

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        conditions = self._plan.conditions
        return Needs(
            memory=conditions.pool * conditions.jobs,
            memory_for=f"{conditions.jobs} servers at once",
            disk={self._lab.home: _ROOM},
            disk_for={self._lab.home: "a recorded disk and its states"},
            remedy="choose a smaller LOGSIZE, POOL or JOBS",
        )

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        """At its end nothing is mounted any more."""
        with ExitStack() as stack:
            self._room = stack.enter_context(cut_room(self._lab))
            yield

    @override
    def make(self, group: int, run: Run) -> str:
        """The recording."""
        try:
            self._record(group)
        except LabError:
            self._check_room()
            raise
        return ""

    def _check_room(self) -> None:
        """Raises `DiskFull`: what a server does on a full disk is no result of a power cut."""
        if files.free_space(self._lab.home) < FULL:
            raise DiskFull(f"the disk under {self._lab.home} is full", "free some space, and resume the run")

    def _record(self, group: int) -> None:
        planned = self._plan.groups[group]
        cell, conditions = planned.cell, self._plan.conditions
        variation, server = VARIATIONS[cell.variation], self._lab.server(cell.server)
        request = _request(cell, conditions, server.dialect)
        workload = _workload(variation, server.dialect, request)
        workload.require(self._lab)
        profile = storage_profile(_DISK)
        assert isinstance(profile, ModelledDisk)
        wanted = WantedLoad(
            server=server,
            workload=workload,
            dataset=DatasetSpec(
                server=server.name,
                version=server.version,
                size=16 * MIB,
                data=workload.data(0),
                open_transaction_rows=0,
            ),
            request=request,
            clients=Clients(connections=conditions.clients),
            seconds=conditions.seconds,
            parameters=profile.parameters(),
            cache=variation.cache,
            file_system=variation.file_system,
            replica=variation.replica,
        )
        folder = self._folder(group)
        files.make_folder(folder)
        with self._lab.progress.stage(f"recording {cell.server}: {cell.in_words}", "record") as stage:
            load = record(self._lab, built_disk_model(self._lab), folder, wanted, stage)
            commits = len(load.ledger.acknowledgements)
            changes, flushes = len(load.recording.changes), len(load.recording.flushes)
            stage.outcome = f"{commits:,} commits, {changes:,} writes, {flushes:,} flushes"
        history = History(load.recording, variation.cache, obeys=variation.obeys)
        self._recorded = _Recorded(load, history, wanted)

    @override
    def measure_at(
        self,
        position: int,
        planned: Planned[PlannedCuts],
        name: str,
        run: Run,
        keep: Callable[[Measured[DurabilityTrial]], None],
    ) -> None:
        assert self._recorded is not None
        recorded = self._recorded
        group, began = self._plan.groups[planned.group], time.monotonic()
        drawn = self._drawn(recorded, group, planned.step)
        states = [recorded.history.state(each.cut) for each in drawn]
        logs = f"{position + 1:04}"
        self._recover(group.cell, states, run, logs)
        self._check_room()
        verdicts = [
            _verdict(recorded, each, state, recorded.contents[state.hash])
            for each, state in zip(drawn, states, strict=True)
        ]
        explained_ones = self._with_explanations(group.cell, drawn, verdicts, run, logs)
        trial = DurabilityTrial(
            cell=group.cell,
            version=self._lab.server(group.cell.server).version,
            recording=group.number,
            cuts=planned.step.kind,
            recovered_s=time.monotonic() - began,
            verdicts=tuple(explained_ones),
        )
        found = () if VARIATIONS[group.cell.variation].must_lose else findings(trial)
        kept = self._evidence(trial, drawn, run, logs, is_finding=bool(found))
        keep(Measured(trial, [Finding(what=each.what, evidence=kept) for each in found]))

    def _recover(
        self, cell: Cell, states: Sequence[DiskState], run: Run, logs: str, *, check_file_systems: bool = False
    ) -> None:
        """Recover those of which none with the same content was."""
        assert self._recorded is not None
        recorded, variation = self._recorded, VARIATIONS[cell.variation]
        new = {state.hash: state for state in states if state.hash not in recorded.contents}
        tasks = [
            StateTask(
                number=number,
                state=state,
                server=recorded.wanted.server,
                request=replace(recorded.wanted.request, purpose=Purpose.RECOVER),
                log=run.log(f"{logs}-{number:02}"),
                # Of a disk that lies a file system is no better than a server.
                checks_file_system=variation.obeys
                and (check_file_systems or (self._recovered + number) % _EVERY_FILE_SYSTEM == 0),
            )
            for number, state in enumerate(new.values(), start=1)
        ]

        def done(checked: CheckedRecovery[StateTask, StateContent]) -> None:
            recorded.contents[checked.task.state.hash] = checked.verdict
            # Thousands of logs that say nothing, or the same: kept is that of the first of a step that did not come up.
            if checked.verdict.is_sound or logs in self._logged:
                for file in (checked.task.log, arrivals_of(checked.task.log)):
                    files.remove(file)
            else:
                self._logged.add(logs)

        if tasks:
            recover_states(
                self._lab,
                recorded.load,
                recorded.history,
                recorded.wanted.workload,
                tasks,
                self._plan.conditions.jobs,
                done,
            )
            self._recovered += len(tasks)

    def _with_explanations(
        self, cell: Cell, drawn: Sequence[DrawnCut], verdicts: Sequence[CutVerdict], run: Run, logs: str
    ) -> Iterator[CutVerdict]:
        """The first of each kind that no setting accounts for is explained, once for each cell."""
        for each, verdict in zip(drawn, verdicts, strict=True):
            fault = next((one for one in unexpected(cell, verdict) if (cell, one) not in self._explained), None)
            if fault is None or not self._plan.conditions.explain:
                yield verdict
                continue
            self._explained.add((cell, fault))
            try:
                explanation = self._explanation(cell, each, verdict, fault, run, logs)
            except LabError as error:
                # What was found counts, also without it.
                self._lab.progress.note(f"it could not be explained: {error}")
                yield verdict
            else:
                yield msgspec.structs.replace(verdict, explanation=explanation)

    def _explanation(
        self, cell: Cell, drawn: DrawnCut, verdict: CutVerdict, fault: Fault, run: Run, logs: str
    ) -> Explanation:
        assert self._recorded is not None
        recorded, progress = self._recorded, self._lab.progress
        of_file_system = any(each.what.startswith(VARIATIONS[cell.variation].file_system) for each in verdict.failed)

        def is_red(state: DiskState) -> bool:
            self._recover(cell, [state], run, f"{logs}-explained", check_file_systems=of_file_system)
            return fault in unexpected(cell, _verdict(recorded, drawn, state, recorded.contents[state.hash]))

        progress.note(f"a cut {drawn.moment} {fault}: looking for the fewest lost writes that do it")
        found = explained(recorded.history, drawn.cut, is_red, self._plan.conditions.explain)
        progress.note(f"{found.writes} of {found.taken} lost writes do it ({found.tried} states tried)")
        for line in found.words:
            progress.note(f"  {line}")
        return found

    def _evidence(
        self, trial: DurabilityTrial, drawn: Sequence[DrawnCut], run: Run, logs: str, *, is_finding: bool
    ) -> tuple[str, ...]:
        """Keep the first cut of a cell that is a finding, or was explained if such are to be kept; unless there is no room.

        Each takes some hundred megabytes, and the others are made again by their seeds.
        """
        first = _to_keep(trial, drawn, is_finding=is_finding)
        wanted = is_finding or self._plan.conditions.keep_cuts
        if first is None or not wanted or (trial.cell, is_finding) in self._kept:
            return ()
        folder, number = run.folder / "evidence" / logs, 1
        while folder.exists():
            number += 1
            folder = folder.with_name(f"{logs}-again{number}")
        assert self._recorded is not None
        try:
            keep_cut(_kept_cut(trial, self._recorded, *first), self._recorded.load, folder)
        except LabError as error:
            # What was found counts, also without it.
            self._lab.progress.note(str(error))
            return ()
        self._kept.add((trial.cell, is_finding))
        return (str(folder.relative_to(run.folder)),)

    def _drawn(self, recorded: _Recorded, group: PlannedRecording, step: PlannedCuts) -> list[DrawnCut]:
        load = recorded.load
        seed = f"{self._plan.seed} {group.cell} {group.number} {step.batch}"
        match step.kind:
            case Cuts.SAMPLED:
                return sampled_cuts(load.recording, load.began, load.ended, step.count, seed)
            case Cuts.SEARCHED:
                torn = VARIATIONS[group.cell.variation].torn
                return searched_cuts(recorded.history, load.ledger, load.began, load.ended, step.count, seed, torn=torn)
            case Cuts.KILLED:
                return [without_cut(load.recording, load.killed)]
            case Cuts.MACHINE:
                raise AssertionError("no plan has it any more")

    @override
    def release(self, group: int, name: str) -> None:
        """The recording goes."""
        self._recorded = None
        files.remove(self._folder(group))

    def _folder(self, group: int) -> Path:
        assert self._room is not None
        return self._room / f"recording-{group}"


def _to_keep(
    trial: DurabilityTrial, drawn: Sequence[DrawnCut], *, is_finding: bool
) -> tuple[DrawnCut, CutVerdict, Fault] | None:
    """The cut to be kept of a step, and what is wrong with it: one that was explained before others."""
    bad = [
        (cut, verdict, verdict.faults[0])
        for cut, verdict in zip(drawn, trial.verdicts, strict=True)
        if (verdict.faults if is_finding else verdict.explanation is not None)
    ]
    return next((each for each in bad if each[1].explanation is not None), bad[0] if bad else None)


def _kept_cut(
    trial: DurabilityTrial, recorded: _Recorded, drawn: DrawnCut, verdict: CutVerdict, fault: Fault
) -> KeptCut:
    variation, load = VARIATIONS[trial.cell.variation], recorded.load
    losses = recorded.history.losses(drawn.cut)
    whole = Explanation(place=drawn.cut.place, taken=len({each.number for each in losses}), losses=tuple(losses))
    return KeptCut(
        what=sentence(trial, fault, [verdict]),
        server=trial.cell.server,
        version=trial.version,
        request=recorded.wanted.request,
        workload=recorded.wanted.workload,
        file_system=variation.file_system,
        cache=variation.cache,
        obeys=variation.obeys,
        began=load.began,
        ended=load.ended,
        killed=load.killed,
        time=drawn.time,
        fault=fault,
        explanation=verdict.explanation or whole,
        outcome=verdict.outcome,
        ledger=verdict.ledger,
        failed=verdict.failed,
        said=verdict.said,
    )


def _workload(variation: Variation, dialect: Dialect, request: InstanceRequest) -> LedgerWorkload:
    if variation.defines is Defines.NOTHING:
        return LedgerWorkload(about="", options=variation.table_options)
    resized = [dialect.resizing(size).statement for size in (request.log_size // 2, request.log_size)]
    rotated = ["FLUSH BINARY LOGS"] if request.binary_log else []
    between = (*(each.rstrip(";") for each in resized if each is not None), *rotated)
    return LedgerWorkload(about="", options=variation.table_options, defines=variation.defines, between=between)


def _request(cell: Cell, conditions: DurabilityConditions, dialect: Dialect) -> InstanceRequest:
    variation, is_logged = VARIATIONS[cell.variation], cell.sync_binlog is not None
    return InstanceRequest(
        purpose=Purpose.PRODUCTION,
        log_size=conditions.log_size,
        buffer_pool=conditions.pool,
        flush_log_at_trx_commit=cell.trx_commit,
        binary_log=is_logged,
        sync_binlog=cell.sync_binlog,
        overrides=(*variation.overrides, *(dialect.statements_in_binary_log if is_logged else ())),
    )


def _verdict(recorded: _Recorded, drawn: DrawnCut, state: DiskState, content: StateContent) -> CutVerdict:
    found, load = content.found, recorded.load
    return CutVerdict(
        moment=drawn.moment,
        seconds=(drawn.time - load.began) / _NANOSECONDS,
        cut=drawn.cut,
        hash=state.hash,
        outcome=content.outcome,
        ledger=None if found is None else judged(load.ledger, drawn.time, found),
        failed=content.failed,
        said=content.said,
    )
