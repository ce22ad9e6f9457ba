"""How far is Innodb_os_log_written from the growth of the LSN, what does it count, and what reaches the disk?"""

from __future__ import annotations

from redolab.runs.experiment import Experiment, Noun

from .bench import InflationBench, InflationPlan
from .factors import Factors
from .pages import inflation
from .plan import plan
from .report import report
from .rows import rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=Factors,
    plan=plan,
    plan_type=InflationPlan,
    bench=InflationBench,
    report=report,
    pages={"inflation": inflation.page},
    rows=rows,
    group=Noun("instance", "instances"),
    step=Noun("trial", "trials"),
)
