"""What throughput does a larger redo log gain, and what does it cost in recovery?"""

from __future__ import annotations

from redolab.crashes.bench import CrashBench, CrashPlan
from redolab.crashes.rows import load_rows
from redolab.runs.experiment import Experiment, Noun

from .factors import Factors
from .pages import throughput
from .plan import plan
from .report import report

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=Factors,
    plan=plan,
    plan_type=CrashPlan,
    bench=CrashBench,
    report=report,
    rows=load_rows,
    pages={"throughput": throughput.page},
    group=Noun("load", "loads"),
    step=Noun("recovery", "recoveries"),
)
