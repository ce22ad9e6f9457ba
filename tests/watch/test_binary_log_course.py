"""Progress of a server with its binary log, by the position at which it reads."""

from __future__ import annotations

from redolab.watch.following.binary_log_course import BinaryLogCourse, BinaryLogFile, BinaryLogSeen

MIB = 1 << 20


def at(position: int, size: int = 1000 * MIB) -> BinaryLogFile:
    return BinaryLogFile(position=position, size=size)


def test_the_time_left_is_that_of_the_bytes_not_read_yet() -> None:
    course = BinaryLogCourse()
    course.see(1.0, None)
    assert course.seen() is None
    course.see(2.0, at(100 * MIB))
    assert course.seen() == BinaryLogSeen(done=100 * MIB, of=1000 * MIB, rate=None, left=None)
    course.see(6.0, at(400 * MIB))
    read = BinaryLogSeen(done=400 * MIB, of=1000 * MIB, rate=75 * MIB, left=8.0)
    assert course.seen() == read
    # The kernel was not asked again.
    course.see(7.0, at(400 * MIB))
    assert course.seen() == read
    # All is read: the server writes into the file, or has closed it.
    course.see(14.0, at(1000 * MIB))
    assert course.seen() is None


def test_another_file_has_a_rate_of_its_own() -> None:
    course = BinaryLogCourse()
    course.see(1.0, at(100 * MIB))
    course.see(2.0, at(200 * MIB))
    course.see(3.0, at(4096, size=50 * MIB))
    seen = course.seen()
    assert seen is not None
    assert (seen.done, seen.of, seen.rate) == (4096, 50 * MIB, None)
