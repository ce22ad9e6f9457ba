"""How long does crash recovery take with a redo log of this size, on each storage, with each buffer pool?"""

from __future__ import annotations

from redolab.crashes.bench import CrashBench, CrashPlan
from redolab.crashes.rows import recovery_rows
from redolab.runs.experiment import CheckCell, Experiment, Noun

from .check import check
from .factors import Factors
from .pages import generations, recovery, source, storage, stuck
from .plan import plan
from .report import report

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=Factors,
    plan=plan,
    plan_type=CrashPlan,
    bench=CrashBench,
    report=report,
    rows=recovery_rows,
    pages={
        "generations": generations.page,
        "recovery": recovery.page,
        "source": source.page,
        "storage": storage.page,
        "stuck": stuck.page,
    },
    page_runs={"storage": ["model"]},
    check=CheckCell(check, "ready_s", "s to ready with a log of 64M"),
    group=Noun("crash", "crashes"),
    step=Noun("recovery", "recoveries"),
)
