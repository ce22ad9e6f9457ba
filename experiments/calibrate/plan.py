"""Plan of a calibration: crashes of each size with long and short redo records, recovered in one and more batches."""

from __future__ import annotations

import itertools

from redolab.bench.checks import check_memory
from redolab.bench.planning import usual_pools
from redolab.crashes.wanted import WantedCrash, crash_spec
from redolab.lab import Lab
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.plan import draw_plan
from redolab.storage.attaching import check_possible

from .factors import Factors

_LONG_RECORDS, _SHORT_RECORDS = "bulk-update", "oltp_write_only"


def plan(factors: Factors, lab: Lab) -> CrashPlan:
    """Return the plan of all servers and storages. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    wanted = _wanted(factors)
    check_memory(wanted, ())
    crashes = []
    for name, each in itertools.product(factors.server, wanted):
        spec = crash_spec(lab.server(name), each)
        steps = [
            PlannedRecovery(storage=storage, pool=pool) for storage in factors.storage for pool in usual_pools(spec)
        ]
        crashes.append((PlannedCrash(server=name, spec=spec), steps))
    conditions = CrashConditions(storages=factors.profiles())
    return draw_plan(
        [crashes], repeat=factors.repeat, seed=factors.drawn_seed(), conditions=conditions, keep=factors.keep
    )


def _wanted(factors: Factors) -> list[WantedCrash]:
    """Return every size under the workload that fills quickly, and all but the largest under the one that takes
    minutes.
    """
    sizes = sorted(factors.log_size)
    return [
        *(WantedCrash(log_size=size, workload=_LONG_RECORDS) for size in sizes),
        *(WantedCrash(log_size=size, workload=_SHORT_RECORDS) for size in sizes[:-1]),
    ]
