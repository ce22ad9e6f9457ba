"""How far is Innodb_os_log_written from the growth of the LSN, what does it count, and what reaches the disk?"""

from __future__ import annotations

from functools import partial

from redolab.runs.experiment import Experiment, Named, Noun, by_name

from .rows import rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, ".bench:InflationPlan"),
    bench=Named(__name__, ".bench:InflationBench"),
    report=Named(__name__, ".report:report"),
    pages={"inflation": Named(__name__, ".pages.inflation:page")},
    rows=rows,
    group=Noun("instance", "instances"),
    step=Noun("trial", "trials"),
)
