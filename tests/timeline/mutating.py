"""Logs as no server writes them, made of those in tests/logs, and what holds for the recoveries found in any log."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from redolab.timeline import FoundStart, Phase, Timeline, starts, to_json
from redolab.timeline.logs import read_log
from redolab.timeline.summary import StartSummary
from tests.logs import ERROR_LOGS

LOGS = Path(__file__).parent.parent / "logs"
FIRST_FIVE = tuple(Phase)[:5]
_LARGEST = 40_000
"""Bytes of a log that is mutated: of a longer one a piece is."""
_RUNS = (
    b" ",
    b"> ",
    b"9",
    b"0:",
    b"[",
    b"InnoDB: ",
    b"2026-11-21  4:38:27 ",
    b"{",
    b'{"msg":"',
    b"\\",
    b"(",
    b"x",
    b"\xff",
    b"\t",
    b"'",
)
"""What a line is filled with that has no end."""
_NUMBER = re.compile(rb"\d+")


def check(found: list[Timeline]) -> None:
    """What holds for every timeline, however little sense its log makes."""
    for timeline in found:
        assert tuple(time.phase for time in timeline.phases) == tuple(Phase)
        for time in timeline.phases:
            assert (time.seconds is None) == bool(time.why)
            assert time.seconds is None or time.seconds >= 0
            own = sum(part.seconds for part in timeline.parts if part.phase is time.phase)
            assert time.seconds is None or own <= time.seconds + 1e-6
        first = [timeline.phase(phase).seconds for phase in FIRST_FIVE]
        known = sum(s for s in first if s is not None)
        if timeline.seconds_to_ready is not None:
            assert known <= timeline.seconds_to_ready + 1e-6
            if None not in first:
                assert abs(known - timeline.seconds_to_ready) < 1e-6
        if timeline.seconds is not None and timeline.seconds_to_ready is not None:
            rollback = timeline.phase(Phase.ROLLBACK).seconds
            assert abs(timeline.seconds - timeline.seconds_to_ready - (rollback or 0)) < 1e-6
        assert timeline.seconds_at_least is None or timeline.seconds_at_least >= 0
        json.dumps(to_json(timeline))


def read_through(log: bytes) -> list[FoundStart]:
    """Read a log as `redolab timeline` does, to its summary, and check what it says."""
    found = list(starts(read_log(io.BytesIO(log))))
    summary = StartSummary()
    for start in found:
        summary.add(start)
    summary.finish()
    assert summary.starts == len(found)
    assert sum(loop.starts for loop in summary.loops) <= summary.starts
    check([start.recovery for start in found if start.recovery is not None])
    return found


def whole_logs() -> list[bytes]:
    """The logs, each with no recovery cut in two."""
    return [path.read_bytes() for path in ERROR_LOGS]


def mutated(seed: int, logs: list[bytes]) -> bytes:
    """One of the logs with one to four things done to it; the same of the same seed."""
    chance = random.Random(seed)
    log = _piece(chance, chance.choice(logs))
    for _ in range(chance.randint(1, 4)):
        log = chance.choice(_MUTATIONS)(chance, log, logs)
    return log


def _piece(chance: random.Random, log: bytes) -> bytes:
    begin = chance.randrange(max(1, len(log) - _LARGEST))
    return log[begin : begin + _LARGEST]


def _shuffled(chance: random.Random, log: bytes, _logs: list[bytes]) -> bytes:
    pieces = [log[a:b] for a, b in pairwise(sorted(chance.choices(range(len(log) + 1), k=8)))]
    chance.shuffle(pieces)
    return chance.choice((b"\n", b"", b"\0", b"\r\n")).join(pieces)


def _spliced(chance: random.Random, log: bytes, logs: list[bytes]) -> bytes:
    other = _piece(chance, chance.choice(logs))
    at, begin, end = (chance.randrange(len(each) + 1) for each in (log, other, other))
    return log[:at] + other[min(begin, end) : max(begin, end)] + log[at:]


def _lines_changed(chance: random.Random, log: bytes, _logs: list[bytes]) -> bytes:
    lines = log.split(b"\n")
    for _ in range(chance.randint(1, 12)):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        what = chance.randrange(4)
        if what == 0:
            lines.insert(other, lines[at])
        elif what == 1 and len(lines) > 1:
            del lines[at]
        elif what == 2:
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)] + lines[other]
    return b"\n".join(lines)


def _bytes_changed(chance: random.Random, log: bytes, _logs: list[bytes]) -> bytes:
    changed = bytearray(log)
    for _ in range(chance.randint(1, 30) if changed else 0):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _numbers_changed(chance: random.Random, log: bytes, _logs: list[bytes]) -> bytes:
    share = chance.choice((0.01, 0.1, 1.0))

    def other(found: re.Match[bytes]) -> bytes:
        if chance.random() > share:
            return found[0]
        length = chance.choice((min(len(found[0]), 60), 1, 2, 20, 60))
        return b"%d" % chance.randrange(10**length)

    return _NUMBER.sub(other, log)


def _prefixed(chance: random.Random, log: bytes, _logs: list[bytes]) -> bytes:
    prefixes = (
        b"> ", b"db-1  | ", b"2026-11-21T04:38:27.1Z stderr F ", b"Nov 21 04:38:27 db mysqld[71]: ", b"[pod/db-0/mysql] ",
        b"12:00:00 ", b"\xef\xbb\xbf", b" " * 3000,
    )  # fmt: skip
    share, prefix = chance.choice((0.02, 1.0)), chance.choice(prefixes)
    return b"\n".join(prefix + line if chance.random() < share else line for line in log.split(b"\n"))


def _endless(chance: random.Random, log: bytes, _logs: list[bytes]) -> bytes:
    at, run = chance.randrange(len(log) + 1), chance.choice(_RUNS)
    return log[:at] + run * (chance.choice((100, 20_000, 60_000)) // len(run)) + log[at:]


_MUTATIONS: tuple[Callable[[random.Random, bytes, list[bytes]], bytes], ...] = (
    _shuffled, _spliced, _lines_changed, _bytes_changed, _numbers_changed, _prefixed, _endless,
)  # fmt: skip
