"""Which settings matter here, each changed alone?"""

from __future__ import annotations

from redolab.crashes.bench import CrashBench
from redolab.runs.experiment import Experiment, Noun

from .factors import Factors
from .pages import settings
from .plan import SettingsPlan, plan
from .report import report
from .rows import settings_rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=Factors,
    plan=plan,
    plan_type=SettingsPlan,
    bench=CrashBench,
    report=report,
    rows=settings_rows,
    pages={"settings": settings.page},
    group=Noun("load", "loads"),
    step=Noun("recovery", "recoveries"),
)
