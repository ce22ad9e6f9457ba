"""The answer of a recovery run, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.models.bound import Bound
from redolab.records.recovery import Outcome
from redolab.report.labels import server_label
from redolab.units import format_size

from .rows import RecoveryRow, bound_of, by_machine, recoveries_in

_FEW = 4
"""Most rows of one crash that the answer lists one by one."""


def answer(rows: Sequence[RecoveryRow]) -> str:
    """Return the recovery times in a sentence: of one crash each row, of many the shortest and longest, and the
    failures.

    Each machine has a sentence of its own: times of two machines do not compare.
    """
    machines = by_machine(rows)
    if len(machines) > 1:
        return " ".join(f"On {name}: {_of_one_machine(each)}" for name, each in machines.items())
    return _of_one_machine(rows)


def _of_one_machine(rows: Sequence[RecoveryRow]) -> str:
    ready = [row for row in rows if row.ready_median_s is not None]
    ends = [_ended(rows)] if any(row.bad or row.wrong for row in rows) else []
    if not ready:
        return f"No recovery became ready: {'; '.join(ends)}." if ends else "No recovery was measured."
    if len({(row.server, row.log_size_bytes, row.dataset_bytes) for row in ready}) == 1:
        return "; ".join([_of_one_crash(ready), *users_in_words(ready), *ends]) + "."
    return "; ".join([_of_many(ready), *users_in_words(ready), *ends]) + "."


def _of_one_crash(rows: Sequence[RecoveryRow]) -> str:
    first = rows[0]
    redo = next((row.redo_from_recovery_bytes for row in rows if row.redo_from_recovery_bytes), None)
    of = f"{format_size(redo)} of redo" if redo else "The redo"
    subject = f"{of} in {_a_log_of(format_size(first.log_size_bytes))}: {server_label(first.server, first.version)} was ready after"
    told, between = (rows, ", ") if len(rows) <= _FEW else (_extremes(rows), " to ")
    times = between.join(_time(row, rows) for row in told)
    bounds = {bound for row in rows if (bound := bound_of(row)) is not None}
    limit = f"; bound by {next(iter(bounds))}" if len(bounds) == 1 and bounds != {Bound.NEITHER} else ""
    return f"{subject} {times}{limit}"


def _of_many(rows: Sequence[RecoveryRow]) -> str:
    least, most = _extremes(rows)
    return f"Ready after {_time(least, rows)} to {_time(most, rows)}, in {len(rows)} cells"


def users_in_words(rows: Sequence[RecoveryRow]) -> list[str]:
    """Return when clients had their throughput back, in words."""
    followed = [row for row in rows if row.followed]
    back = sorted(row.back_median_s for row in followed if row.back_median_s is not None)
    if not followed:
        return []
    if not back:
        return ["throughput was not back at 90 % while the clients were followed"]
    when = f"{back[0]:.1f} s" if len(back) == 1 else f"{back[0]:.1f} to {back[-1]:.1f} s"
    missing = len(followed) - len(back)
    return [
        f"throughput was back at 90 % after {when}" + (f", in {missing} of {len(followed)} cells not" * bool(missing))
    ]


def _extremes(rows: Sequence[RecoveryRow]) -> tuple[RecoveryRow, RecoveryRow]:
    by_time = sorted(rows, key=lambda row: row.ready_median_s or 0.0)
    return by_time[0], by_time[-1]


def _time(row: RecoveryRow, among: Sequence[RecoveryRow]) -> str:
    """Return the time and what distinguishes its row, as in `69.5 s (pool 6G)`."""
    which = [
        server_label(row.server, row.version) if len({each.server for each in among}) > 1 else "",
        f"log {format_size(row.log_size_bytes)}" if len({each.log_size_bytes for each in among}) > 1 else "",
        row.storage if len({each.storage for each in among}) > 1 else "",
        f"pool {format_size(row.buffer_pool_bytes)}" if len({each.buffer_pool_bytes for each in among}) > 1 else "",
        row.settings if len({each.settings for each in among}) > 1 else "",
    ]
    told = ", ".join(part for part in which if part)
    return f"{row.ready_median_s:.1f} s" + (f" ({told})" if told else "")


_ENDS = {
    Outcome.STUCK: "never ended",
    Outcome.GAVE_UP: "ended with the server giving up",
    Outcome.DIED: "ended with the server dying once it was ready",
    Outcome.REFUSED: "ended with the server refusing the first write",
    Outcome.NO_CRASH_RECOVERY: "ended without a crash recovery",
}


def _ended(rows: Sequence[RecoveryRow]) -> str:
    counts = [
        *((sum(row.bad.get(outcome, 0) for row in rows), how) for outcome, how in _ENDS.items()),
        (sum(row.wrong for row in rows), "left wrong tables"),
    ]
    all_of = sum(recoveries_in(row) for row in rows)
    return ", ".join(f"{count} of {all_of} recoveries {how}" for count, how in counts if count)


def _a_log_of(size: str) -> str:
    """Return `an 8G log` or `a 4G log`: the article fits the size read aloud."""
    return f"an {size} log" if size.startswith(("8", "11", "18")) else f"a {size} log"
