"""A block within a load: the redo log gets a size, the load settles, and a turn is measured, size after size."""

from __future__ import annotations

import statistics
from concurrent.futures import Future, ThreadPoolExecutor

from redolab.clock import now
from redolab.crash.bench.watched_load import WatchedLoad
from redolab.errors import LabError, ServerFailed
from redolab.progress import Stage
from redolab.results.load_figures import per_second
from redolab.results.turns import Resize, Turn
from redolab.servers.dialects import CAPACITY_IN_FORCE
from redolab.units import format_duration, format_size

_PATIENCE = 1800.0
"""Longest wait for the log's new size, in seconds."""
_USUAL = 10.0
"""Seconds before a change that give the usual throughput."""
_SEE_LOG = "see its log in the run's folder"


def measured_turn(load: WatchedLoad, size: int, seconds: float, stage: Stage) -> Turn:
    """Measure the load with a log of `size` bytes. Raises `LabError`."""
    figures = load.measured(size, seconds, stage)
    since = now().monotonic - seconds
    ages = [each.checkpoint_age for each in load.samples if each.monotonic > since and each.checkpoint_age is not None]
    return Turn(
        log_size_bytes=size,
        turn_s=figures.load_measured_s,
        rate=figures.rate.mean,
        latency_95_ms=figures.latency_95_ms,
        worst_second=figures.worst_second_share,
        checkpoint_age_bytes=statistics.fmean(ages) if ages else None,
        redo_bytes_per_second=figures.redo_per_second,
        pages_bytes_per_commit=figures.pages_per_commit_bytes,
        device_bytes_per_commit=figures.device_per_commit_bytes,
        cpu_share=figures.load_cpu_share,
    )


def settle(load: WatchedLoad, size: int, seconds: float, stage: Stage) -> list[Resize]:
    """Give the log a size, and let the load settle. Return the change; none if the log had the size already."""
    server, before = load.started.instance.server, _size_in_force(load)
    if before == size:
        load.watch(seconds, stage)
        return []
    stage.say(f"the log gets {format_size(size)}")
    asked = now().monotonic
    answered = _resize(load, size)

    def is_in_force() -> bool:
        if not answered.done():
            return False
        # Raises the error with which the server refused the statement.
        answered.result()
        return _size_in_force(load) == size

    if not load.watch(_PATIENCE, stage, is_in_force):
        raise ServerFailed(
            f"the redo log of {server.name} is not {format_size(size)} after {format_duration(_PATIENCE)}", _SEE_LOG
        )
    in_force = now().monotonic - asked
    load.watch(seconds, stage)
    # Programs may leave out a second in which no transaction ended.
    rates = [
        (each.end - asked, each.commits if each.new_orders is None else 60 * each.new_orders)
        for each in per_second(load.reports)
    ]
    usual = [rate for at, rate in rates if -_USUAL < at <= 0]
    if not usual or not sum(usual):
        raise LabError(f"the clients of {server.name} ended no transaction", _SEE_LOG)
    seen = [(round(at, 2), round(rate, 1)) for at, rate in rates if -_USUAL < at <= in_force + seconds]
    return [
        Resize(
            before=before,
            after=size,
            answered_s=answered.result() - asked,
            in_force_s=in_force,
            usual_rate=statistics.fmean(usual),
            rates=tuple(seen),
        )
    ]


def _resize(load: WatchedLoad, size: int) -> Future[float]:
    """Begin to give the log another size. The future has the monotonic time of the server's answer."""
    instance = load.started.instance
    statement = instance.server.dialect.resizing(size).statement
    assert statement is not None

    def execute() -> float:
        with instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement)
        return now().monotonic

    # Do not wait for the thread: a server may answer only after the resize, and an interrupt ends the server first.
    threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="resizing")
    answered = threads.submit(execute)
    threads.shutdown(wait=False)
    return answered


def _size_in_force(load: WatchedLoad) -> int:
    """Return the current size of the server's redo log in bytes."""
    values = load.started.named_values("SHOW GLOBAL VARIABLES LIKE 'innodb%log%'")
    values |= load.started.named_values(f"SHOW GLOBAL STATUS LIKE '{CAPACITY_IN_FORCE}'")
    return load.started.instance.server.dialect.log_size(values)
