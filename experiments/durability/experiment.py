"""The experiment durability: power cuts of a recorded load, each recovered and compared with its clients' ledger."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from typing_extensions import override

from redolab.crash.bench.factors import several_servers
from redolab.errors import InvalidInput, LabError
from redolab.powercut.cut_verdict import CutVerdict
from redolab.powercut.cuts import Cuts, DrawnCut
from redolab.powercut.ledger import Fault
from redolab.report.quantities import quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Experiment, Noun
from redolab.runs.factors import one_of, whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Finding, Trial
from redolab.runs.store import Run
from redolab.units import GIB, parse_duration, parse_size

from .promises import findings, sentence, unexpected
from .variations import PLAIN, VARIATIONS

if TYPE_CHECKING:
    from .recovered import RecoveredStates

_OFF = "off"
_BATCH = 10
"""Cuts of a step. An interrupt loses at most these."""
_variation = one_of("variation", lambda: list(VARIATIONS))
_ABOUT_VARIATIONS = "; ".join(f"{name}: {each.about}" for name, each in VARIATIONS.items() if name != PLAIN)
_WITHOUT_BINARY_LOG = ",".join(name for name, each in VARIATIONS.items() if not each.replica)
"""Variations that the first value of BINARYLOG allows."""
_ROOM = 6 * GIB
"""Bytes of a recording, and of those of its states that exist at the same time."""


def _binary_log(text: str) -> int | None:
    """Return None for `off`, or the value of sync_binlog with which it is on. Raises `InvalidInput`."""
    if text == _OFF:
        return None
    if not text.isdigit():
        raise InvalidInput(f"'{text}' is no state of the binary log", "off, or a value of sync_binlog as in off,0,1")
    return int(text)


class Recording(PlannedGroup, frozen=True, kw_only=True):
    """A load that is recorded, and the settings under which its power is cut."""

    server: Annotated[str, several_servers("mariadb-11.8,mysql-9")]
    trx_commit: Annotated[
        int, Option("Values of innodb_flush_log_at_trx_commit, with commas.", whole_number(0, 3), "1,2,0")
    ]
    sync_binlog: Annotated[
        int | None,
        Option(
            "The binary log: off, or on with that value of sync_binlog, with commas.",
            _binary_log,
            "off,0,1",
            name="binary_log",
        ),
    ]
    variation: Annotated[
        str,
        Option(
            "Changes beside these two settings, one at a time with the first of each, with commas; plain: no change, with "
            f"all of them. {_ABOUT_VARIATIONS}.",
            _variation,
            _WITHOUT_BINARY_LOG,
        ),
    ]
    recording: int
    """Number of the recording among those with these settings, from 1."""

    @property
    def in_words(self) -> str:
        """Settings in words, as in `trx_commit=1, sync_binlog=0, ext4`."""
        log = "binary log off" if self.sync_binlog is None else f"sync_binlog={self.sync_binlog}"
        varied = "" if self.variation == PLAIN else f", {self.variation}"
        return f"trx_commit={self.trx_commit}, {log}{varied}"

    @property
    def settings(self) -> str:
        """Server and settings, which all recordings of a configuration share."""
        return f"{self.server} ({self.in_words})"

    @override
    def described(self) -> dict[str, str]:
        return {"server": self.server, "settings": self.in_words, "recording": str(self.recording)}


class Batch(PlannedStep, frozen=True, kw_only=True):
    """Some cuts of a recording."""

    cuts: Cuts = msgspec.field(name="kind")
    count: int
    batch: int
    """Number of the batch among those of this kind, from 1."""

    @override
    def described(self) -> dict[str, str]:
        return {"cuts": f"{self.count} {self.cuts}"}


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of the whole run; sizes in bytes, times in seconds."""

    states: Annotated[int, Option("States of each configuration.", whole_number(4, 1_000_000), "100")]
    recordings: Annotated[
        int, Option("Recordings of each configuration, among which its states are divided.", whole_number(1, 1000), "4")
    ]
    explain: Annotated[
        int,
        Option(
            "States to try in search of the fewest lost writes that cause a loss which its settings do not explain.",
            whole_number(0, 10_000),
            "60",
        ),
    ]
    keep_cuts: Annotated[
        bool,
        Option(
            "Keep also cuts that were explained and break no promise, as folders for 'redolab recover'.", None, "off"
        ),
    ]
    seconds: Annotated[float, Option("How long each load is recorded.", parse_duration, "6s")]
    clients: Annotated[int, Option("Clients that write.", whole_number(1, 64), "4")]
    log_size: Annotated[int, Option("Redo log size.", parse_size, "64M")]
    pool: Annotated[int, Option("Buffer pool, under load and in recovery.", parse_size, "128M")]
    jobs: Annotated[int, Option("Recoveries at a time.", whole_number(1, 64), "3")]

    def batches(self) -> list[Batch]:
        """Return the batches of a recording: half of its cuts sampled, half searched, and the state after SIGKILL."""
        of_recording = max(2, self.states // self.recordings)
        found = []
        for cuts, count in ((Cuts.SAMPLED, of_recording // 2), (Cuts.SEARCHED, of_recording - of_recording // 2)):
            sizes = [min(_BATCH, count - begun) for begun in range(0, count, _BATCH)]
            found += [Batch(cuts=cuts, count=size, batch=number) for number, size in enumerate(sizes, start=1)]
        return [*found, Batch(cuts=Cuts.KILLED, count=1, batch=1)]


class DurabilityTrial(Trial, frozen=True, kw_only=True):
    """Some states of one recording."""

    version: str
    recovered_s: float
    """Seconds for all recoveries together, including building and judging states."""
    verdicts: tuple[CutVerdict, ...]

    @property
    @quantity("states", places=0)
    def states(self) -> int:
        """Number of states that were recovered, or had the content of one that was."""
        return len(self.verdicts)

    @property
    @quantity("that lost", places=0)
    def states_that_lost(self) -> int:
        """Number of states that lost acknowledged commits."""
        return sum(each.is_lost for each in self.verdicts)

    @property
    @quantity("broken", places=0)
    def broken(self) -> int:
        """Number of states whose server did not come up or contradicts itself."""
        return sum(each.is_broken for each in self.verdicts)


class Durability(Experiment[Recording, Batch, Conditions, "RecoveredStates", DurabilityTrial]):
    """Recordings of a load, and the states that power cuts of it could have left."""

    question = "What does a power cut lose of what was acknowledged, with which settings?"
    group_noun = Noun("recording", "recordings")
    step_noun = Noun("batch of states", "batches of states")
    brief = True
    trials_stand_alone = True
    in_given_order = True
    repeat = None

    @classmethod
    @override
    def cells(cls, factors: Any) -> Mapping[Recording, Sequence[Batch]]:
        """Return every combination of the two settings, and the variations of the first combination."""
        from redolab.crash.bench.factors import check_log_sizes
        from redolab.servers.sizes import check_pool

        conditions = cls.conditions_from(factors)
        check_log_sizes(factors.server, [conditions.log_size])
        check_pool(conditions.pool)
        varied = [name for name in factors.variation if name != PLAIN]
        if factors.binary_log[0] is None and any(VARIATIONS[name].replica for name in varied):
            raise InvalidInput(
                "a replica reads the binary log, which is off", "name a value of sync_binlog: BINARYLOG=1"
            )
        plain = [PLAIN] if PLAIN in factors.variation else []
        settings = [
            *itertools.product(factors.server, factors.trx_commit, factors.binary_log, plain),
            *itertools.product(factors.server, factors.trx_commit[:1], factors.binary_log[:1], varied),
        ]
        groups = [
            Recording(server=server, trx_commit=commit, sync_binlog=sync, variation=name, recording=number)
            for server, commit, sync, name in settings
            for number in range(1, conditions.recordings + 1)
        ]
        return dict.fromkeys(groups, conditions.batches())

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        jobs = self.conditions.jobs
        return Needs(
            memory=self.conditions.pool * jobs,
            memory_for=f"{jobs} servers at once",
            disk={self.lab.home: _ROOM},
            disk_for={self.lab.home: "a recorded disk and its states"},
            remedy="choose a smaller LOGSIZE, POOL or JOBS",
        )

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        from redolab.disks.place import Place
        from redolab.disks.profiles import HOME
        from redolab.powercut.recorded import cut_room

        self._disk = Place(name=HOME, folder=self.lab.home)
        self._explained: set[tuple[str, Fault]] = set()
        self._kept: set[tuple[str, bool]] = set()
        """Settings of which a cut is kept as a folder, and True if that cut is a finding."""
        with cut_room(self.lab) as self._room:
            yield

    @contextmanager
    @override
    def group(self, group: Recording, at: GroupContext) -> Iterator[RecoveredStates]:
        """Record the load, and keep the recording while the group lasts."""
        from redolab.machine import files

        from .recovered import recorded

        folder = self._room / f"recording-{at.group}"
        files.make_folder(folder)
        try:
            with self.lab.progress.stage(f"recording {group.settings}", "record") as stage, self._disk.blamed():
                states = recorded(self.lab, at.run, group, self.conditions, folder, stage)
            yield states
        finally:
            files.remove(folder)

    @override
    def measure(self, group: Recording, step: Batch, made: RecoveredStates, at: StepContext[DurabilityTrial]) -> None:
        began, logs = time.monotonic(), f"{at.position + 1:04}"
        seed = f"{self.plan.seed} {group.settings} {group.recording} {step.batch}"
        drawn = made.drawn(step.cuts, step.count, seed)
        verdicts = made.verdicts(drawn, logs)
        recovered_s = time.monotonic() - began
        # A server that fails on a full disk is no result of a power cut.
        self._disk.check()
        judged = [
            (cut, self._with_explanation(group, made, cut, verdict, logs))
            for cut, verdict in zip(drawn, verdicts, strict=True)
        ]
        trial = DurabilityTrial(
            version=self.lab.server(group.server).version,
            recovered_s=recovered_s,
            verdicts=tuple(verdict for _, verdict in judged),
        )
        found = findings(group, step.cuts, trial.verdicts)
        evidence = self._evidence(group, step, made, judged, at, is_finding=bool(found))
        at.keep(trial, [Finding(what=each, evidence=evidence) for each in found])

    def _with_explanation(
        self, group: Recording, made: RecoveredStates, cut: DrawnCut, verdict: CutVerdict, logs: str
    ) -> CutVerdict:
        """Explain the first verdict of a configuration with a fault that its settings do not account for."""
        faults = unexpected(group.trx_commit, verdict)
        fault = next((each for each in faults if (group.settings, each) not in self._explained), None)
        if fault is None or not self.conditions.explain:
            return verdict
        self._explained.add((group.settings, fault))
        try:
            return made.explained(cut, verdict, fault, self.conditions.explain, logs)
        except LabError as error:
            # The verdict counts without an explanation too.
            self.lab.progress.note(f"it could not be explained: {error}")
            return verdict

    def _evidence(
        self,
        group: Recording,
        step: Batch,
        made: RecoveredStates,
        judged: Sequence[tuple[DrawnCut, CutVerdict]],
        at: StepContext[DurabilityTrial],
        *,
        is_finding: bool,
    ) -> tuple[str, ...]:
        """Keep the first cut of a configuration that is a finding, or was explained if KEEPCUTS asks for such cuts.

        Return its folder, which takes some hundred megabytes. The other cuts can be made again from their seeds.
        """
        explained = [each for each in judged if each[1].explanation is not None]
        bad = [*explained, *(each for each in judged if is_finding and each[1].faults)]
        wanted = is_finding or self.conditions.keep_cuts
        if not bad or not wanted or (group.settings, is_finding) in self._kept:
            return ()
        (cut, verdict), *_ = bad
        fault = verdict.faults[0]
        folder = at.run.evidence(f"{at.position + 1:04}")
        try:
            made.keep(cut, verdict, fault, sentence(group, step.cuts, fault, [verdict]), folder)
        except LabError as error:
            # The finding counts without evidence too.
            self.lab.progress.note(str(error))
            return ()
        self._kept.add((group.settings, is_finding))
        return (str(folder.relative_to(at.run.folder)),)
