"""Which of ten settings matter here, each changed alone?"""

from __future__ import annotations

from redolab.crashes.bench import CrashBench
from redolab.crashes.rows import load_rows
from redolab.runs.experiment import Experiment, Noun

from .factors import Factors
from .plan import SettingsPlan, plan
from .report import report

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=Factors,
    plan=plan,
    plan_type=SettingsPlan,
    bench=CrashBench,
    report=report,
    rows=load_rows,
    group=Noun("load", "loads"),
    step=Noun("recovery", "recoveries"),
)
