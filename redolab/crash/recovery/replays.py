"""Recorded recoveries of the committed runs, which `redolab follow` follows again as their lines came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from redolab.crash.records.recovery import RecoveryTrial
from redolab.crash.recovery.looks import Beginning, looks_of
from redolab.errorlog.files import arrivals_of, read_stamped_log
from redolab.results.crashes import crashes_of
from redolab.runs.store import Run
from redolab.servers.dialects import dialect_of_version
from redolab.watch.following.log_course import LogCourse
from redolab.watch.following.redo_files import RedoToRecover
from redolab.watch.following.server_process import Look
from redolab.watch.following.service import StartLimit
from redolab.watch.following.time_left import POINTS, Course

SHORTEST = 20.0
"""Seconds to ready: nobody asks how long a shorter recovery still takes."""


class RecordedProcess:
    """A server's process as the lab sampled it (`FOLLOW=on`): a `ShownProcess`."""

    pid = 0

    def __init__(self, beginning: Beginning, looks: Sequence[Look]) -> None:
        self.name, self.started, self._redo = beginning.name, beginning.started, beginning.redo
        self.looks = looks

    @classmethod
    def of(cls, log: Path) -> RecordedProcess | None:
        """Return the process of the server that wrote this log; None if it was not sampled."""
        path = looks_of(log)
        # The last line can be torn where the lab was killed.
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        if not lines:
            return None
        looks = [msgspec.json.decode(each, type=Look) for each in lines[1:]]
        return cls(msgspec.json.decode(lines[0], type=Beginning), looks)

    def redo(self) -> RedoToRecover | None:
        """Return the redo to recover, as the redo log files said."""
        return self._redo

    def start_limit(self) -> StartLimit | None:
        """Return None: the lab starts servers outside systemd."""

    def look(self, at: float) -> Look | None:
        """Return the last look up to that time, or the first of all."""
        return next((each for each in reversed(self.looks) if each.at <= at), self.looks[0] if self.looks else None)


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded recovery."""

    run: str
    server: str
    kind: str
    lines: Sequence[tuple[float, str]]
    """Seconds from the start of the server, and the line that arrived then."""
    ready: float
    """Seconds."""
    redo: int | None
    """Bytes of all redo; None where its log does not tell."""
    log_size: int
    """Bytes of the redo log files."""
    shows_end: bool
    """True where its redo log files show the end of the redo (`redo_files`)."""
    process: RecordedProcess | None

    def logs_at(self, moments: Iterable[float]) -> Iterator[LogCourse]:
        """Yield the state of the log at each of these ascending times; it is one log, which grows."""
        log, heard = LogCourse(began=0.0), 0
        for moment in moments:
            while heard < len(self.lines) and self.lines[heard][0] <= moment:
                at, text = self.lines[heard]
                log.hear_line(text, at)
                heard += 1
            yield log


def replays_in(runs: Iterable[Run]) -> list[Replay]:
    """Return all that took long enough, came to their end, and whose lines have the times of their arrival."""
    return [replay for run in sorted(runs, key=lambda run: run.name) for replay in replays_of(run)]


def replays_of(run: Run) -> Iterator[Replay]:
    """Yield the replays of a run, except those with many tables, which `follow` predicts by files."""
    of_files = {image.name for image in crashes_of(run) if image.spec.dataset.empty_tables}
    for record in run.trials(RecoveryTrial):
        trial = record.trial
        if trial.ready_s is None or trial.ready_s < SHORTEST or trial.image in of_files:
            continue
        logs = sorted((run.files / "logs").glob(f"{record.position + 1:03}-*.log"))
        if not logs or not arrivals_of(logs[-1]).exists():
            continue
        dialect = dialect_of_version(trial.version)
        yield Replay(
            run=run.name,
            server=trial.server,
            kind=dialect.recovery_log,
            lines=[(line.arrival, line.text) for line in read_stamped_log(logs[-1]) if line.arrival is not None],
            ready=trial.ready_s,
            redo=None if trial.timeline is None else trial.timeline.redo_bytes,
            log_size=trial.log_size,
            shows_end=dialect.redo_in_blocks,
            process=RecordedProcess.of(logs[-1]),
        )


def course_of(replay: Replay) -> Course | None:
    """Return a recorded recovery for comparison with others; None if its log does not tell how much redo it read."""
    moments = [(number + 0.5) / POINTS * replay.ready for number in range(POINTS)] + [replay.ready]
    *shown, end = [log.done(moment) for moment, log in zip(moments, replay.logs_at(moments), strict=True)]
    redo = replay.redo or round(end.read)
    if redo <= 0:
        return None

    def shares(values: Iterable[float]) -> tuple[float, ...]:
        return tuple(min(1.0, round(value / redo, 3)) for value in values)

    def seconds(values: Iterable[float]) -> tuple[float, ...]:
        return tuple(round(value, 1) for value in values)

    return Course(
        run=replay.run,
        server=replay.server,
        kind=replay.kind,
        redo=redo,
        ready=round(replay.ready, 1),
        read=shares(each.read for each in shown),
        applied=shares(each.applied or 0.0 for each in shown),
        complete=shares(each.complete for each in shown),
        reading=seconds(each.reading_s for each in shown),
        applying=seconds(each.applying_s for each in shown),
        unseen=seconds(each.unseen_s for each in shown),
        in_batch=seconds(each.in_batch_s for each in shown),
        pages_a_mib=tuple(round(each.pages_a_mib or 0) for each in shown),
        all_reading=round(end.reading_s, 1),
        all_applying=round(end.applying_s, 1),
    )
