"""The page of stuck recoveries: those with several numbers of read threads have a table of their own."""

from __future__ import annotations

from collections import Counter

from experiments.recovery.pages.stuck import page
from redolab.records.recovery import Outcome, RecoveryTrial
from redolab.results.committed import INTEL_MACHINE, READ_THREADS
from redolab.runs.pages import measured_runs
from redolab.units import format_size


def test_read_threads_are_counted_by_log_and_change_no_other_table() -> None:
    runs = [run for folder in ("stuck", READ_THREADS, INTEL_MACHINE) for run in measured_runs(folder)]
    text = page(runs).text
    trials = [each.trial for run in measured_runs(READ_THREADS) for each in run.trials(RecoveryTrial)]
    n = Counter((each.settings, each.log_size) for each in trials)
    stuck = Counter((each.settings, each.log_size) for each in trials if each.outcome is Outcome.STUCK)
    logs = sorted({each.log_size for each in trials})
    _, _, section = text.partition("### Read threads")
    table = [line for line in section.partition("## What it looks like")[0].splitlines() if line.startswith("|")]
    assert [f"log {format_size(log)}" in table[0] for log in logs] == [True] * len(logs)
    for threads in (4, 8, 16, 32):
        setting = f"innodb_read_io_threads={threads}"
        (row,) = [line for line in table if line.split("|")[1].strip() == str(threads)]
        told = [cell.strip() for cell in row.split("|")[3:-1]]
        assert told == [f"{stuck[setting, log]} of {n[setting, log]}" for log in logs]
    # The pools that were tried before with the defaults and other settings: 28 recoveries of 7 pools, 21 of them stuck.
    before, _, _ = text.partition("### Read threads")
    assert "| MySQL 9.7.4      | 24    | 7           | 52         | 21    |" in before
