"""Logs of the tests, damaged at random, and what a reader must keep to whatever it is given.

    .venv/bin/python -m tests.errorlog.mutating [LOGS [SEED]]

reads so many of them, 200,000 if not told otherwise, and names the seed of one that is read wrongly.
"""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Sequence

from redolab.errorlog import FoundStart, Phase, Timeline, as_json, starts
from redolab.errorlog.files import read_log
from redolab.errorlog.picture import picture
from redolab.errorlog.summary import StartSummary
from redolab.watch.following.log_course import LogCourse
from tests.logs import ERROR_LOGS

_MANY = 200_000
_LONGEST = 6000
"""Bytes of a log that is damaged: of a longer one a piece is."""
_CONTENTS = [log.read_bytes() for log in ERROR_LOGS]
_LINES = [line for content in _CONTENTS for line in content.split(b"\n")]
_RUBBISH = (
    b"\0",
    b"\xff\xfe",
    b"\r",
    b"9" * 30,
    b"-1",
    b"  ",
    b"\t",
    b"<br />",
    b"> ",
    b"{",
    b'"',
    b"[ERROR] ",
    b"InnoDB: ",
    b"%",
    *(run * (60_000 // len(run)) for run in (b" ", b"> ", b"9", b"0:", b"InnoDB: ", b'{"msg":"', b"(", b"\xff", b"\t")),
)
"""Bytes that are put in, some without an end."""


def mutated(seed: int) -> bytes:
    """Return a log from that seed: lines are lost, repeated, moved and mixed with others, bytes are changed and put in."""
    chance = random.Random(seed)
    content = chance.choice(_CONTENTS)
    begin = chance.randrange(max(1, len(content) - _LONGEST)) if chance.random() < 0.5 else 0
    lines = content[begin : begin + _LONGEST].split(b"\n")
    for _ in range(chance.randint(1, 8)):
        _damage(lines, chance)
    return chance.choice((b"\n", b"\n", b"\r\n", b"\0")).join(lines)


def _damage(lines: list[bytes], chance: random.Random) -> None:
    at, other = (chance.randrange(len(lines) + 1) for _ in range(2))
    first, last = sorted((at, other))
    match chance.randrange(7):
        case 0:
            del lines[first:last]
        case 1:
            lines[at:at] = lines[first:last] * chance.randint(1, 3)
        case 2:
            lines[at:at] = chance.choices(_LINES, k=chance.randint(1, 12))
        case 3:
            lines[first:last] = chance.sample(lines[first:last], last - first)
        case 4:
            piece = chance.choice(_CONTENTS)
            cut = chance.randrange(len(piece) + 1)
            lines[at:at] = piece[cut : cut + 1500].split(b"\n")
        case _ if at < len(lines):
            line = bytearray(lines[at])
            where = chance.randrange(len(line) + 1)
            line[where : where + chance.choice((0, 1, 5, 40))] = chance.choice((*_RUBBISH, chance.randbytes(4)))
            lines[at] = bytes(line)
        case _:
            pass


def check(found: Sequence[Timeline]) -> None:
    """Check what every timeline keeps to, also that of a senseless log."""
    for timeline in found:
        assert tuple(time.phase for time in timeline.phases) == tuple(Phase)
        for time in timeline.phases:
            assert (time.seconds is None) == bool(time.why)
            assert time.seconds is None or time.seconds >= 0
            own = sum(part.seconds for part in timeline.parts if part.phase is time.phase)
            assert time.seconds is None or own <= time.seconds + 1e-6
        first = [timeline.phase(phase).seconds for phase in tuple(Phase)[:5]]
        known = sum(s for s in first if s is not None)
        if timeline.seconds_to_ready is not None:
            assert known <= timeline.seconds_to_ready + 1e-6
            if None not in first:
                assert abs(known - timeline.seconds_to_ready) < 1e-6
        if timeline.seconds is not None and timeline.seconds_to_ready is not None:
            rollback = timeline.phase(Phase.ROLLBACK).seconds
            assert abs(timeline.seconds - timeline.seconds_to_ready - (rollback or 0)) < 1e-6
        assert timeline.seconds_at_least is None or timeline.seconds_at_least >= 0
        assert picture(timeline)
        json.loads(as_json(timeline))


def read_through(log: bytes) -> list[FoundStart]:
    """Read a log as `redolab timeline` does, to its summary, and check what it says."""
    found = list(starts(read_log(io.BytesIO(log))))
    summary = StartSummary()
    for start in found:
        summary.add(start)
    summary.finish()
    assert summary.starts == len(found)
    assert max(summary.clean, summary.crashes) <= summary.starts
    assert sum(loop.starts for loop in summary.loops) <= summary.starts
    check([start.recovery for start in found if start.recovery is not None])
    return found


def follow_through(log: bytes) -> None:
    """Follow a log as `redolab follow` does, a second for each line."""
    course = LogCourse()
    for second, line in enumerate(log.decode("utf-8", "replace").split("\n")):
        course.hear_line(line, float(second))
        course.hear_unfinished(line[: len(line) // 2])
        done = course.done(float(second))
        assert done.read >= 0
        assert done.complete >= 0
        assert done.in_batch_s >= 0


def main(arguments: Sequence[str]) -> None:
    """Read them."""
    many, first = (int(each) for each in (*arguments, *(str(_MANY), "0")[len(arguments) :]))
    for seed in range(first, first + many):
        log = mutated(seed)
        try:
            read_through(log)
            follow_through(log)
        except Exception:
            print(f"seed {seed}", flush=True)
            raise
    print(f"{many:,} mutated logs from seed {first} on were read without an error")


if __name__ == "__main__":
    main(sys.argv[1:])
