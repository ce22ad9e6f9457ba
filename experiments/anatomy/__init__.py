"""What decides how long a recovery takes: one baseline, and everything that could matter changed one at a time."""

from __future__ import annotations

from redolab.crashes.bench import CrashBench
from redolab.crashes.rows import recovery_rows
from redolab.runs.experiment import Experiment, Noun

from .factors import Factors
from .pages import anatomy
from .plan import AnatomyPlan, plan
from .report import report

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=Factors,
    plan=plan,
    plan_type=AnatomyPlan,
    bench=CrashBench,
    report=report,
    pages={"anatomy": anatomy.page},
    rows=recovery_rows,
    group=Noun("crash", "crashes"),
    step=Noun("recovery", "recoveries"),
)
