"""Recoveries that the lab has recorded, followed again as their lines came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redolab.models.time_left import POINTS, Course, Done
from redolab.records.recovery import RecoveryTrial
from redolab.results.committed import FOLLOWED
from redolab.results.crashes import crashes_of
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run
from redolab.servers.dialects import Version, dialect_of, family_of
from redolab.timeline.arrivals import arrivals_of, read_stamped_log
from redolab.timeline.phases import Timeline
from redolab.timeline.stamps import records
from redolab.watching.following.looks import RecordedProcess
from redolab.watching.following.recovery_log import RecoveryLog

PAGE = "following"
"""Of the runs whose servers were looked at."""
SHORTEST = 20.0
"""Seconds: of what takes less nobody asks."""


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
    """Whether its redo log files show where the redo ends (`redo_files`)."""
    process: RecordedProcess | None
    """What was seen of its process, where the lab looked at it (`FOLLOW=on`)."""

    def log_at(self, now: float) -> RecoveryLog:
        """What the log had told by then."""
        log = RecoveryLog(began=0.0)
        for at, text in self.lines:
            if at > now:
                break
            for record in records(text):
                log.hear(record, at)
        return log


def replays() -> list[Replay]:
    """Return those of the runs that are committed."""
    return replays_in([run for folder in FOLLOWED for run in measured_runs(folder)])


def replays_in(runs: Sequence[Run]) -> list[Replay]:
    """All that took long enough, came to their end, and whose lines have the times of their arrival."""
    named = {run.name: run for run in runs}
    return [replay for _, run in sorted(named.items()) for replay in replays_of(run)]


def replays_of(run: Run) -> Iterator[Replay]:
    """Those of a run, without crashes with many tables: what these take is no question of redo, and is counted by itself."""
    of_files = {image.name for image in crashes_of(run) if image.spec.dataset.empty_tables}
    for record in run.trials(RecoveryTrial):
        trial = record.trial
        if trial.ready_s is None or trial.ready_s < SHORTEST or trial.image in of_files:
            continue
        logs = sorted((run.files / "logs").glob(f"{record.position + 1:03}-*.log"))
        if not logs or not arrivals_of(logs[-1]).exists():
            continue
        lines = [(line.arrival, line.text) for line in read_stamped_log(logs[-1]) if line.arrival is not None]
        redo = None if trial.timeline is None else _redo(trial.timeline)
        dialect = dialect_of(family_of(trial.version), Version.parse(trial.version))
        yield Replay(
            run=run.name,
            server=trial.server,
            kind=dialect.recovery_log,
            lines=lines,
            ready=trial.ready_s,
            redo=redo,
            log_size=trial.log_size,
            shows_end=dialect.redo_in_blocks,
            process=RecordedProcess.of(logs[-1]),
        )


def _redo(timeline: Timeline) -> int | None:
    begin, end = timeline.checkpoint_lsn, timeline.end_lsn
    return None if begin is None or end is None else end - begin


def course_of(replay: Replay) -> Course | None:
    """A recorded recovery as others are compared with; None where its log does not tell how much redo it read."""
    moments = [(number + 0.5) / POINTS * replay.ready for number in range(POINTS)]
    shown, blind = list[Done](), list[Done]()
    log, lines = RecoveryLog(began=0.0), iter(replay.lines)
    line = next(lines, None)
    for moment in (*moments, replay.ready):
        while line is not None and line[0] <= moment:
            for record in records(line[1]):
                log.hear(record, line[0])
            line = next(lines, None)
        shown.append(log.done(moment))
        blind.append(log.done(moment, shows=False))
    end = shown.pop()
    redo = replay.redo or round(end.read)
    if redo <= 0:
        return None

    def per_mille(values: Sequence[float]) -> tuple[int, ...]:
        return tuple(min(1000, round(1000 * value / redo)) for value in values)

    def tenths(values: Sequence[float]) -> tuple[int, ...]:
        return tuple(round(10 * value) for value in values)

    return Course(
        run=replay.run,
        server=replay.server,
        kind=replay.kind,
        redo=redo,
        ready=round(10 * replay.ready),
        read=per_mille([each.read for each in shown]),
        applied=per_mille([each.applied or 0.0 for each in shown]),
        complete=per_mille([each.complete for each in shown]),
        reading=tenths([each.reading_s for each in shown]),
        applying=tenths([each.applying_s for each in shown]),
        unseen=tenths([each.unseen_s for each in shown]),
        in_batch=tenths([each.in_batch_s for each in shown]),
        pages_a_mib=tuple(round(each.pages_a_mib or 0) for each in shown),
        all_reading=round(10 * end.reading_s),
        all_applying=round(10 * end.applying_s),
    )
