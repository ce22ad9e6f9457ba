"""A plan as a table: what would be done."""

from __future__ import annotations

from redolab.crash import ImageStore
from redolab.plan import PlannedCrash, RecoveryPlan
from redolab.report.table import Column, ReportTable
from redolab.units import format_size

_SHOWN = 6


def plan_table(plan: RecoveryPlan, images: ImageStore, room: int) -> ReportTable:
    """One row a crash; below, the disk space and the order."""

    def image(crash: PlannedCrash) -> str:
        kept = None if plan.new_crash else images.find(crash.spec)
        return crash.image or (kept.name if kept else "to be made")

    repeats = max(recovery.repeat for recovery in plan.recoveries)
    columns = [
        Column[PlannedCrash]("server", lambda crash: crash.server),
        Column[PlannedCrash]("log", lambda crash: format_size(crash.spec.instance.log_size), right=True),
        Column[PlannedCrash]("dataset", lambda crash: format_size(crash.spec.dataset.size), right=True),
        Column[PlannedCrash]("crash image", image),
        Column[PlannedCrash]("storages", lambda _: ", ".join(plan.storages)),
        Column[PlannedCrash]("pools", lambda crash: ", ".join(format_size(pool) for pool in crash.pools)),
        Column[PlannedCrash]("repeats", lambda _: str(repeats), right=True),
        Column[PlannedCrash](
            "recoveries", lambda crash: str(len(plan.storages) * len(crash.pools) * repeats), right=True
        ),
    ]
    first = ", ".join(
        f"{plan.crashes[each.crash].server} on {each.storage} with {format_size(each.pool)} ({each.repeat})"
        for each in plan.recoveries[:_SHOWN]
    )
    more = ", …" * (len(plan.recoveries) > _SHOWN)
    notes = [
        f"It takes up to {format_size(room)} of the lab's disk. The order is drawn with SEED={plan.seed}: {first}{more}",
        "Nothing was loaded, crashed or recovered.",
    ]
    return ReportTable.of("Plan", plan.crashes, columns, notes)
