"""Whether a recovery gets on: told from its log and from what its server reads and writes."""

from __future__ import annotations

from redolab.errorlog import Phase
from redolab.errorlog.collapse import KEPT, collapsed, repetitions
from redolab.errorlog.stamps import Record, records
from redolab.errorlog.watch import RecoveryProgress, Watch, recovery_progress, shows_progress
from redolab.lines import Line

BEGUN = [
    "2026-11-22T05:00:00.1Z 0 [Note] [MY-012551] [InnoDB] Database was not shutdown normally!",
    "2026-11-22T05:00:01.1Z 0 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 125789",
    "2026-11-22T05:00:02.1Z 1 [Note] [MY-012532] [InnoDB] Applying a batch of 15191 redo log records ...",
    "2026-11-22T05:00:03.1Z 1 [Note] [MY-012533] [InnoDB] 10%",
    "2026-11-22T05:00:04.1Z 1 [Note] [MY-012533] [InnoDB] 50%",
]
NO_BLOCK = (
    "2026-11-22T05:00:{second:02}.1Z 1 [Warning] [MY-011958] [InnoDB] Difficult to find free blocks in the buffer pool "
    "({times} search iterations)! {times} failed attempts to flush a page!"
)


def record_of(line: str) -> Record:
    """Return the only record of a line."""
    (record,) = records(line)
    return record


def test_a_log_says_how_far_it_is() -> None:
    assert recovery_progress([]) == RecoveryProgress(Phase.DISCOVER)
    assert recovery_progress([Line(text) for text in BEGUN[:3]]) == RecoveryProgress(Phase.APPLY)
    assert recovery_progress([Line(text) for text in BEGUN]) == RecoveryProgress(Phase.APPLY, 50)


def test_a_complaint_is_no_progress_however_often_it_comes() -> None:
    assert all(shows_progress(record_of(line)) for line in BEGUN)
    assert not shows_progress(record_of(NO_BLOCK.format(second=5, times=21)))
    watch = Watch(0.0)
    for second, line in enumerate(BEGUN, 1):
        watch.hear(float(second), record_of(line))
    for second in range(6, 60):
        watch.hear(float(second), record_of(NO_BLOCK.format(second=second, times=second * 100)))
        # The same percent again is none either.
        watch.hear(float(second), record_of(BEGUN[-1].replace(":04.1", f":{second:02}.1")))
        watch.see(float(second), 0, 100)
    assert watch.quiet(60.0) == 55.0
    assert watch.longest == 1.0


def test_a_page_read_or_written_is_progress_though_nothing_is_said() -> None:
    watch = Watch(0.0)
    assert watch.see(10.0, 16384, 0)
    assert watch.see(50.0, 16384, 16384)
    assert not watch.see(60.0, 16384 + 512, 16384 + 512)
    assert (watch.quiet(60.0), watch.longest) == (10.0, 40.0)


def test_what_a_log_repeats_is_counted_and_left_out() -> None:
    lines = [
        *BEGUN,
        *(NO_BLOCK.format(second=5, times=times) for times in range(1000)),
        "2026-11-22T05:01:00.1Z 0 the end",
    ]
    (repeated,) = repetitions(lines)
    assert repeated.times == 1000
    assert repeated.text in NO_BLOCK.format(second=5, times=0)
    kept = [line for line, _ in collapsed(lines, lines)]
    assert len(kept) == len(BEGUN) + KEPT + 2
    assert f" {1000 - KEPT} " in kept[-2]
    assert kept[-1].endswith("the end")
