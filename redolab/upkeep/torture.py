"""Power cuts without end: recordings with settings that promise every commit, drawn at random, until the time is over."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.clock import now
from redolab.errors import FindingsMade, StepsFailed
from redolab.progress import Progress
from redolab.runs.experiment import load_experiment
from redolab.runs.factors import read_factors
from redolab.runs.failing import ENOUGH
from redolab.runs.schema import RunState
from redolab.runs.session import run_experiment
from redolab.runs.store import Run, RunStore
from redolab.units import format_duration

_EXPERIMENT = "durability"
_STATES = 40
_BINARY_LOGS = ("off", "1")
_VARIATIONS = (
    "plain",
    "torn",
    "torn-fsync",
    "ext4",
    "fsync",
    "protected",
    "indexed",
    "compressed",
    "tables",
    "partitions",
    "twice",
)
"""Those in which nothing may be lost."""
_CLIENTS = (1, 4, 16)
_SECONDS = ("2s", "4s", "6s")


@dataclass(slots=True)
class _Tally:
    """What was looked at so far."""

    recordings: int = 0
    states: int = 0
    findings: int = 0
    failed_in_a_row: int = 0

    def in_words(self, seconds: float) -> str:
        """As in `12 recordings, 480 states in 10 min: 0 findings`."""
        return f"{self.recordings} recordings, {self.states:,} states in {format_duration(seconds)}: {self.findings} findings"


def torture(servers: Sequence[str], seconds: float, seed: int, progress: Progress) -> None:
    """Record, cut and recover for so long; a run that has found something stays, the others go.

    Raises `LabError`, and `FindingsMade` at the end where something was found.
    """
    draw, began, tally = random.Random(seed), now().monotonic, _Tally()
    try:
        while (gone := now().monotonic - began) < seconds:
            progress.note(f"{tally.in_words(gone)}; {format_duration(seconds - gone)} left")
            _one(_drawn(servers, draw), tally, progress)
    finally:
        progress.note(tally.in_words(now().monotonic - began))
    if tally.findings:
        raise FindingsMade(f"{tally.findings} findings", "'redolab runs' lists the runs, each with its evidence")


def _drawn(servers: Sequence[str], draw: random.Random) -> dict[str, str]:
    """One recording: the fields of the experiment's factors."""
    return {
        "server": draw.choice(servers),
        "trx_commit": "1",
        "binary_log": draw.choice(_BINARY_LOGS),
        "variation": draw.choice(_VARIATIONS),
        "states": str(_STATES),
        "recordings": "1",
        "seconds": draw.choice(_SECONDS),
        "clients": str(draw.choice(_CLIENTS)),
        "seed": str(draw.randrange(1_000_000)),
    }


def _one(given: dict[str, str], tally: _Tally, progress: Progress) -> None:
    factors = read_factors(load_experiment(_EXPERIMENT).factors(), given)
    before = {run.name for run in RunStore().all()}
    try:
        run_experiment(_EXPERIMENT, factors, progress)
        tally.failed_in_a_row = 0
    except FindingsMade as found:
        progress.note(str(found))
    except StepsFailed as failed:
        tally.failed_in_a_row += 1
        if tally.failed_in_a_row == ENOUGH:
            raise
        progress.note(f"{failed}; the run stays")
    finally:
        # Also of one that is interrupted: what it has looked at counts, and it stays to be resumed.
        for run in RunStore().all():
            if run.name not in before and run.record().experiment == _EXPERIMENT:
                _count(run, tally)
                if run.record().state is RunState.COMPLETE and not run.findings():
                    RunStore().remove(run)


def _count(run: Run, tally: _Tally) -> None:
    tally.findings += len(run.findings())
    rows = load_experiment(_EXPERIMENT).rows(run)
    tally.recordings += len({(row["variation"], row["recording"]) for _, row in rows})
    tally.states += sum(int(str(row["states"])) for _, row in rows)
