"""A recovery that is followed, in words: a block on a terminal, a line anywhere else, an object for programs."""

from __future__ import annotations

from datetime import datetime

from redolab.clock import Instant
from redolab.errorlog.kinds import Phase
from redolab.errorlog.tablespaces import FilesSeen
from redolab.units import format_duration, format_size
from redolab.watch.following.advice import Advice
from redolab.watch.following.binary_log_course import BinaryLogSeen
from redolab.watch.following.follower import Followed, State

_MUCH_LESS = 0.7
"""Share of 80 % intervals that held, below which they are called unreliable."""
_DOES = {
    Phase.DISCOVER: "starting",
    Phase.SCAN: "reading redo",
    Phase.APPLY: "applying redo to pages",
    Phase.OPEN: "opening its tablespaces",
    Phase.ACCEPT: "about to take connections",
    Phase.ROLLBACK: "taking connections, and undoing what was open at the crash",
}


def for_programs(followed: Followed, wall: float) -> dict[str, object]:
    """Return the state for programs, sizes in bytes, times in seconds; `wall`: its wall time."""
    done, left, files, binary_log = followed.done, followed.left, followed.files, followed.binary_log
    return {
        "at": wall,
        "server": followed.server,
        "state": followed.state,
        "phase": followed.phase,
        "phase_percent": followed.percent,
        "elapsed_s": done.elapsed,
        "redo": done.total,
        "redo_read": done.read,
        "redo_applied": done.applied,
        "redo_read_per_s": followed.redo_rate,
        "disk_per_s": followed.disk_rate,
        "left_s": left and left.seconds,
        "left_low_s": left and left.low,
        "left_high_s": left and left.high,
        "held": followed.held,
        "share": left and left.share,
        "rests_on": left and left.knows,
        "files_done": files and files.done,
        "files_of": files and files.of,
        "files_left_s": files and files.left,
        "binary_log_read": binary_log and binary_log.done,
        "binary_log": binary_log and binary_log.of,
        "binary_log_left_s": binary_log and binary_log.left,
        "rows_to_undo": followed.rows_to_undo,
        "quiet_s": followed.quiet,
        "advice": followed.advised.advice,
        "words": followed.advised.words,
        "ended": followed.ended,
    }


def line(followed: Followed, wall: float) -> str:
    """Return the state as one line; `wall`: its wall time."""
    parts = [f"{_clock(wall)}  {format_duration(followed.done.elapsed):>11}  {does(followed)}"]
    if (redo := redo_in_words(followed)) is not None:
        parts.append(redo)
    if followed.state is State.STARTING and (disk := _disk_in_words(followed)) is not None:
        parts.append(disk)
    if (left := left_in_words(followed, wall)) is not None:
        parts.append(left)
    if followed.advised.advice in (Advice.RESTART, Advice.LOOK):
        parts.append(followed.advised.words[0])
    return "; ".join(parts)


def rows(followed: Followed, wall: float) -> list[tuple[str, str]]:
    """Return the state as names and values, for a terminal; `wall`: its wall time."""
    known = [
        ("for", format_duration(followed.done.elapsed)),
        ("doing", does(followed)),
        ("redo", redo_in_words(followed)),
        ("disk", _disk_in_words(followed)),
        ("left", left_in_words(followed, wall)),
        ("!", caution_in_words(followed)),
        *(("" if number else "so", word) for number, word in enumerate(followed.advised.words)),
    ]
    return [(name, value) for name, value in known if value is not None]


def does(followed: Followed) -> str:
    """Return the server's activity, in words."""
    if followed.state is State.ENDED:
        return f"over: {followed.ended}"
    if followed.state is State.READY:
        return "ready"
    if followed.state is State.SILENT:
        looks = followed.advised.advice is Advice.LOOK
        return "its start is not seen" if looks else "nothing shows a server that is being started"
    counted = _counted_in_words(followed)
    if followed.state is State.STARTING:
        at_it = "" if counted is None else f", {counted}"
        return f"starting{at_it}; nothing shows yet that it recovers"
    if counted is not None:
        return counted
    batch = f", batch {followed.batches + 1}" if followed.phase is Phase.APPLY and followed.batches else ""
    percent = "" if followed.percent is None or followed.phase is not Phase.APPLY else f", {followed.percent} %"
    return f"{_DOES[followed.phase]}{batch}{percent}"


def _counted_in_words(followed: Followed) -> str | None:
    if followed.files is not None:
        return files_in_words(followed.files)
    return None if followed.binary_log is None else binary_log_in_words(followed.binary_log)


def binary_log_in_words(seen: BinaryLogSeen) -> str:
    """Return the progress with the last binary log file, in words."""
    rate = "" if seen.rate is None else f", {format_size(seen.rate)}/s"
    return f"reading its last binary log file, {format_size(seen.done)} of {format_size(seen.of)}{rate}"


def files_in_words(files: FilesSeen) -> str:
    """Return the activity on the tablespace files and its progress, in words."""
    does_so = "validating its tablespaces" if files.validates else "looking at its tablespace files"
    if files.of is None:
        return f"{does_so} one by one (its log does not count them)"
    rate = "" if files.rate is None else f", {files.rate:,.0f}/s"
    return f"{does_so}, {files.done or 0:,} of {files.of:,}{rate}"


def _disk_in_words(followed: Followed) -> str | None:
    return None if followed.disk_rate is None else f"{format_size(followed.disk_rate)}/s read and written"


def redo_in_words(followed: Followed) -> str | None:
    """Return the redo read, its total and its rate, in words; None where they are not seen."""
    done = followed.done
    if followed.state is not State.RECOVERING or (done.read <= 0 and done.total is None):
        return None
    of = "" if done.total is None else f" of {format_size(done.total)}"
    applied = "" if not done.applied else f", {format_size(done.applied)} applied"
    rate = "" if not followed.redo_rate else f", {format_size(followed.redo_rate)}/s"
    return f"{format_size(done.read)}{of} redo read{rate}{applied}"


def left_in_words(followed: Followed, wall: float) -> str | None:
    """Return how long still, and when it is ready; None where that is not known."""
    left = followed.left
    for counted in (followed.files, followed.binary_log):
        if counted is not None and counted.left:
            return f"at least {format_duration(counted.left)} more"
    if left is None:
        return None
    return (
        f"{left.share:.0%} of its time; ready in {format_duration(left.seconds)} "
        f"({format_duration(left.low)} to {format_duration(left.high)}), at {_clock(wall + left.seconds, wall)}"
    )


def caution_in_words(followed: Followed) -> str | None:
    """Return the reason to doubt the prediction: a newer server, or intervals that held far too rarely."""
    held = followed.held
    cautions = [followed.newer_than_known] if followed.newer_than_known else []
    if held is not None and held.inside < _MUCH_LESS * held.asked:
        cautions.append(
            f"do not rely on this interval: for servers of this kind it held {held.inside / held.asked:.0%} of the time, "
            f"not 80% ({held.recoveries} recoveries)"
        )
    return "; ".join(cautions) or None


def summary(followed: Followed, now: Instant, ready_after: float | None, first: Followed | None) -> list[str]:
    """Return the end of the recovery, and the first prediction made of it."""
    if followed.state is State.ENDED:
        return [f"{followed.server}: {followed.ended}; 'redolab timeline' on its log shows what it came to"]
    if not followed.is_over:
        return [line(followed, now.wall)]
    took = "" if ready_after is None else f" after {format_duration(ready_after)}"
    sentences = [f"{followed.server}: ready{took}"]
    if first is not None and (left := first.left) is not None:
        expected, low, high = (_clock(now.wall_at(first.at + each)) for each in (left.seconds, left.low, left.high))
        sentences.append(f"at first it was expected at {expected} ({low} to {high})")
    if followed.rows_to_undo:
        undone = f"{followed.rows_to_undo:,} row operations are undone while it is in use; --socket follows them"
        sentences.append(undone)
    return sentences


def _clock(at: float, now: float | None = None) -> str:
    """Return the time of day, with the date if it differs from that of `now`."""
    time = datetime.fromtimestamp(at)
    is_today = now is None or datetime.fromtimestamp(now).date() == time.date()
    return time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S")
