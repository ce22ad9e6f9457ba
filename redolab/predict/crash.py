"""The crash of a question: its checkpoint age, its dirty pages, and the work of its recovery."""

from __future__ import annotations

from redolab.errors import InvalidInput
from redolab.predict.question import Model
from redolab.predict.recovery_time.work import Crash, Work
from redolab.units import format_size


def worst_age(model: Model, log_size: int) -> int:
    """Return the checkpoint age in bytes at which statements wait; no load gets beyond it."""
    return model.dialect.capacity(model.dialect.layout(log_size)).hard_limit


def check_log(model: Model, log_size: int, age: int | None) -> None:
    """Raise `InvalidInput` for a log that the server cannot have, or for more redo than the log can hold."""
    least, most = model.dialect.smallest_log, model.dialect.largest_log
    if not least <= log_size <= most:
        raise InvalidInput(
            f"{model.question.server} cannot have a redo log of {format_size(log_size)}",
            f"it takes {format_size(least)} to {format_size(most)}",
        )
    hard_limit = worst_age(model, log_size)
    if age is not None and not 0 < age <= hard_limit:
        raise InvalidInput(
            f"a checkpoint age of {format_size(age)} cannot be with a redo log of {format_size(log_size)}",
            f"statements wait at {format_size(hard_limit)}",
        )


def crash_at(model: Model, age: int) -> Crash:
    """Return a crash at that checkpoint age in bytes, with the dirty pages given or typical of the workload."""
    pages = model.question.dirty_pages
    # More than the pool holds is possible: recovery also reads pages that were written back since the checkpoint.
    return Crash(redo=age, dirty_pages=model.learned.dirty_pages.at(age) if pages is None else float(pages))


def work_at(model: Model, age: int) -> Work:
    """Return the work of a recovery after a crash at that age."""
    return model.learned.work(crash_at(model, age), model.question.pool)


def one_batch(model: Model, log_size: int) -> int:
    """Return the bytes of the buffer pool that certainly hold all redo of the worst crash at once."""
    return int(model.learned.memory.surely_enough(crash_at(model, worst_age(model, log_size))))


def may_take_batches(model: Model, age: int) -> bool:
    """Return True if a recovery after a crash at that age may take more than one batch."""
    return model.learned.memory.surely_enough(crash_at(model, age)) > model.question.pool
