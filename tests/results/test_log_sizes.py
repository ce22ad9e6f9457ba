"""Log sizes of made-up loads, with the logs that were filled up beside them."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from redolab.crash.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.results.loads import Load, MeasuredLoads, WorstCase
from redolab.results.log_sizes import log_sizes
from redolab.servers.dialects import Purpose
from redolab.units import GIB
from tests.examples import load_key, production_load, record, trial


def filled_up(beside: Load, pool: int, seconds: float) -> WorstCase:
    """The crash of a log filled up, of a server with that pool, recovered in so many seconds."""
    instance = replace(beside.image.spec.instance, purpose=Purpose.FILL, buffer_pool=pool)
    spec = msgspec.structs.replace(beside.image.spec, instance=instance)
    crashed = msgspec.structs.replace(beside.image, spec=spec)
    recovered = record(msgspec.structs.replace(trial(seconds), buffer_pool=pool))
    return WorstCase("run", "local", load_key(spec), crashed, [recovered])


def test_a_filled_log_of_a_server_with_another_pool_is_not_beside_a_load() -> None:
    under_load = production_load("run", GIB, 1000)
    pool = under_load.image.spec.instance.buffer_pool
    ((row,),) = log_sizes(MeasuredLoads([under_load], [filled_up(under_load, 4 * pool, 9.0)]))
    assert (row.full_s, row.full_redo) == (None, None)
    both = [filled_up(under_load, pool, 3.0), filled_up(under_load, 4 * pool, 9.0)]
    ((row,),) = log_sizes(MeasuredLoads([under_load], both))
    assert row.full_s == 3.0


def test_logs_filled_to_different_ages_are_not_put_together() -> None:
    under_load = production_load("run", GIB, 1000)
    pool = under_load.image.spec.instance.buffer_pool

    def filled_by(rule: KillRule, seconds: float) -> WorstCase:
        crash = filled_up(under_load, pool, seconds)
        spec = msgspec.structs.replace(crash.image.spec, kill=rule)
        return replace(crash, image=msgspec.structs.replace(crash.image, spec=spec))

    both = [filled_by(KillRule(), 3.0), filled_by(HIGHEST_AGE, 9.0)]
    ((row,),) = log_sizes(MeasuredLoads([under_load], both))
    assert row.full_s == 9.0
