"""How long do recoveries take on this machine, after a few small crashes: what predicts the large ones here?"""

from __future__ import annotations

from redolab.crashes.bench import CrashBench, CrashPlan
from redolab.crashes.rows import recovery_rows
from redolab.runs.experiment import Experiment, Noun
from redolab.sizing.fitting import RECOVERY_PAGES

from .factors import Factors
from .pages import model
from .plan import plan
from .report import report

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=Factors,
    plan=plan,
    plan_type=CrashPlan,
    bench=CrashBench,
    report=report,
    pages={"model": model.page},
    page_runs={"model": RECOVERY_PAGES},
    rows=recovery_rows,
    group=Noun("crash", "crashes"),
    step=Noun("recovery", "recoveries"),
)
