"""Probability that a recovery in more than one batch never ends, and the sentences about it."""

from __future__ import annotations

from redolab.predict.question import Model
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.stuck import THREAD_CLASSES, ChanceOfStuck, chance_of_stuck
from redolab.servers.dialects import GetsStuck
from redolab.units import format_chance


def chance_for(model: Model) -> ChanceOfStuck | None:
    """Return the probability that a recovery in several batches never ends; None if none does, or no data exist."""
    if not _may_get_stuck(model) or not _measured_may_get_stuck(model):
        return None
    return chance_of_stuck(model.server.in_several_batches, model.workload, model.read_threads)


def _may_get_stuck(model: Model) -> bool:
    """Return True if the asked version may get stuck, by its code or by observations of a server with the same code."""
    return model.dialect.gets_stuck is not GetsStuck.NO or (
        HeldOut.SERVER not in model.extrapolations and _measured_may_get_stuck(model)
    )


def _measured_may_get_stuck(model: Model) -> bool:
    """Return True if the server whose rates are used may get stuck, by its code or by observations."""
    seen = model.server.in_several_batches.few_threads.values()
    return model.server.dialect.gets_stuck is not GetsStuck.NO or any(each.stuck for each in seen)


def reservations_about_stuck(model: Model, log_size: int) -> list[str]:
    """Return sentences for a recovery with a log of that size that may take several batches and get stuck."""
    if not _may_get_stuck(model) or not model.may_take_batches(model.worst_age(log_size)):
        return []
    asked, chance = model.question.server, chance_for(model)
    may = (
        f"a recovery of {asked} with more than one batch may get stuck for ever (docs/results/stuck.md has the way out)"
    )
    if chance is None:
        return [f"{may}: how often was not measured"]
    found = [f"{may}: {chance_in_words(chance)}"]
    if model.dialect.gets_stuck is GetsStuck.NOT_KNOWN:
        found.append(f"whether {asked} gets stuck as {model.server.version} does was not tried")
    if model.question.read_threads is None:
        found.append(
            f"innodb_read_io_threads = {model.read_threads} is assumed, the default on up to 8 CPUs; on more it is CPUs / 2: "
            "--read-io-threads N"
        )
    return found


def chance_in_words(chance: ChanceOfStuck) -> str:
    """Return words as in `chance to get stuck 12 % (95 %: 5 % to 24 %; 26 of 108 recoveries in several batches, …)`."""
    low, mean, high = (format_chance(each) for each in (chance.low, chance.mean, chance.high))
    few, more = chance.few_threads, chance.more_threads
    seen = (
        f"{few.stuck} of {few.recoveries} recoveries in several batches, of {few.crashes} crashes, under "
        f"{' and '.join(chance.workloads)} with fewer than {THREAD_CLASSES[1]} read threads"
    )
    if more is None:
        return f"chance to get stuck {mean} (95 %: {low} to {high}; {seen})"
    of_those = (
        f"with {chance.at_least} or more {more.stuck} of {more.recoveries} of crashes and pools that then got stuck"
    )
    return f"chance to get stuck {mean} (95 %: {low} to {high}; {seen}; {of_those})"
