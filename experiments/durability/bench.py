"""Records a load for each group of the plan, and recovers the states that power cuts of it could have left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from redolab.lab import Lab
from redolab.machine import files
from redolab.powercut.cuts import DrawnCut, sampled_cuts, searched_cuts
from redolab.powercut.ledger import judged
from redolab.powercut.recorded import RecordedLoad, WantedLoad, cut_room, record
from redolab.powercut.recovering import StateContent, StateTask, recover_states
from redolab.powercut.states import DiskState, History
from redolab.records.dataset import DatasetSpec
from redolab.recoveries.checked import CheckedRecovery
from redolab.runs.bench import Bench, Measured
from redolab.runs.plan import Planned
from redolab.runs.room import Needs
from redolab.runs.store import Run
from redolab.servers.dialects import Dialect, InstanceRequest, Purpose
from redolab.storage.catalogue import storage_profile
from redolab.storage.disk_model import built_disk_model
from redolab.storage.profiles import ModelledDisk
from redolab.timeline.arrivals import arrivals_of
from redolab.units import GIB, MIB
from redolab.workloads.data import Clients
from redolab.workloads.ledger import LedgerWorkload

from .cells import VARIATIONS, Cell, Variation
from .planned import DurabilityConditions, DurabilityPlan, PlannedCuts, PlannedRecording
from .promises import findings
from .trial import CutVerdict, DurabilityTrial

_DISK = "consumer"
"""The storage profile whose times the recorded disk has."""
_ROOM = 6 * GIB
"""What a recording and the states of it that are there at once take."""
_NANOSECONDS = 1e9


class DurabilityBench(Bench[PlannedRecording, PlannedCuts, DurabilityTrial]):
    """See `Bench`."""

    brief = True

    def __init__(self, lab: Lab, plan: DurabilityPlan) -> None:
        self._lab = lab
        self._plan = plan
        self._room: Path | None = None
        self._recorded: tuple[RecordedLoad, History] | None = None
        self._contents: dict[str, StateContent] = {}

    def find(self, group: int, name: str | None) -> str | None:
        """See `Bench`: a recording does not outlive its run's session."""
        return None

    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        """See `Bench`."""
        pool = self._plan.conditions.pool * self._plan.conditions.jobs
        return Needs(
            memory=pool,
            memory_for=f"{self._plan.conditions.jobs} servers at once",
            disk={self._lab.home: _ROOM},
            disk_for={self._lab.home: "a recorded disk and its states"},
            remedy="choose a smaller LOGSIZE, POOL or JOBS",
        )

    @contextmanager
    def opened(self, run: Run) -> Iterator[None]:
        """See `Bench`: at its end nothing is mounted any more."""
        with ExitStack() as stack:
            self._room = stack.enter_context(cut_room(self._lab))
            yield

    def make(self, group: int, run: Run) -> str:
        """See `Bench`: the recording."""
        planned = self._plan.groups[group]
        cell, conditions = planned.cell, self._plan.conditions
        variation, server = VARIATIONS[cell.variation], self._lab.server(cell.server)
        workload = _workload(variation)
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
            data=workload.data(0),
            request=_request(cell, conditions, server.dialect),
            clients=Clients(connections=conditions.clients),
            seconds=conditions.seconds,
            parameters=profile.parameters(),
            cache=variation.cache,
            file_system=variation.file_system,
        )
        folder = self._folder(group)
        folder.mkdir()
        with self._lab.progress.stage(f"recording {cell.server}: {cell.in_words}", "record") as stage:
            recorded = record(self._lab, built_disk_model(self._lab), folder, wanted, stage)
            commits = len(recorded.ledger.acknowledgements)
            stage.outcome = f"{commits:,} commits, {len(recorded.recording.changes):,} writes, {len(recorded.recording.flushes):,} flushes"
        self._recorded = recorded, History(recorded.recording, variation.cache, obeys=variation.obeys)
        self._contents = {}
        # It does not outlive the run: there is no name under which it could be found.
        return ""

    def measure(
        self,
        position: int,
        planned: Planned[PlannedCuts],
        name: str,
        run: Run,
        keep: Callable[[Measured[DurabilityTrial]], None],
    ) -> None:
        """See `Bench`."""
        assert self._recorded is not None
        recorded, history = self._recorded
        group, began = self._plan.groups[planned.group], time.monotonic()
        drawn = self._drawn(recorded, group, planned.step)
        states = [history.state(each.cut) for each in drawn]
        self._recover(position, group, states, run)
        variation = VARIATIONS[group.cell.variation]
        trial = DurabilityTrial(
            cell=group.cell,
            version=self._lab.server(group.cell.server).version,
            recording=group.number,
            sampled=planned.step.sampled,
            recovered_s=time.monotonic() - began,
            verdicts=tuple(
                _verdict(recorded, each, state, self._contents[state.hash])
                for each, state in zip(drawn, states, strict=True)
            ),
        )
        keep(Measured(trial, () if variation.must_lose else findings(trial)))

    def _recover(self, position: int, group: PlannedRecording, states: Sequence[DiskState], run: Run) -> None:
        """Recover those of which none with the same content was."""
        assert self._recorded is not None
        recorded, history = self._recorded
        conditions, server = self._plan.conditions, self._lab.server(group.cell.server)
        variation = VARIATIONS[group.cell.variation]
        request = _request(group.cell, conditions, server.dialect)
        new = {state.hash: state for state in states if state.hash not in self._contents}
        tasks = [
            StateTask(
                number=number,
                state=state,
                server=server,
                request=replace(request, purpose=Purpose.RECOVER),
                log=run.log(f"{position + 1:04}-{number:02}"),
            )
            for number, state in enumerate(new.values(), start=1)
        ]

        def done(checked: CheckedRecovery[StateTask, StateContent]) -> None:
            self._contents[checked.task.state.hash] = checked.verdict
            # Thousands of logs that say nothing: kept are those of what did not come up.
            if checked.verdict.is_sound:
                for file in (checked.task.log, arrivals_of(checked.task.log)):
                    files.remove(file)

        recover_states(self._lab, recorded, history, _workload(variation), tasks, conditions.jobs, done)

    def _drawn(self, recorded: RecordedLoad, group: PlannedRecording, step: PlannedCuts) -> list[DrawnCut]:
        seed = f"{self._plan.seed} {group.cell} {group.number} {step.batch}"
        recording, began, ended = recorded.recording, recorded.began, recorded.ended
        torn = VARIATIONS[group.cell.variation].torn
        if step.sampled:
            return sampled_cuts(recording, began, ended, step.count, seed)
        return searched_cuts(recording, recorded.ledger, began, ended, step.count, seed, torn=torn)

    def release(self, group: int, name: str) -> None:
        """See `Bench`: the recording goes."""
        self._recorded = None
        files.remove(self._folder(group))

    def _folder(self, group: int) -> Path:
        assert self._room is not None
        return self._room / f"recording-{group}"


def _workload(variation: Variation) -> LedgerWorkload:
    return LedgerWorkload(about="", options=variation.table_options)


def _request(cell: Cell, conditions: DurabilityConditions, dialect: Dialect) -> InstanceRequest:
    is_logged = cell.sync_binlog is not None
    return InstanceRequest(
        purpose=Purpose.PRODUCTION,
        log_size=conditions.log_size,
        buffer_pool=conditions.pool,
        flush_log_at_trx_commit=cell.trx_commit,
        binary_log=is_logged,
        sync_binlog=cell.sync_binlog,
        overrides=(
            *VARIATIONS[cell.variation].overrides,
            *(dialect.statements_in_binary_log if is_logged else ()),
        ),
    )


def _verdict(recorded: RecordedLoad, drawn: DrawnCut, state: DiskState, content: StateContent) -> CutVerdict:
    found = content.found
    return CutVerdict(
        moment=drawn.moment,
        seconds=(drawn.time - recorded.began) / _NANOSECONDS,
        cut=drawn.cut,
        hash=state.hash,
        outcome=content.outcome,
        ledger=None if found is None else judged(recorded.ledger, drawn.time, found),
        failed=content.failed,
        said=content.said,
    )
