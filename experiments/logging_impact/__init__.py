"""What does logging queries cost in throughput and latency, log by log?"""

from __future__ import annotations

from functools import partial

from redolab.runs.experiment import Experiment, Named, Noun, by_name

from .rows import rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, ".planned:LoggingPlan"),
    bench=Named(__name__, ".bench:LoggingBench"),
    report=Named(__name__, ".report:report"),
    pages={"logging-impact": Named(__name__, ".pages.logging_impact:page")},
    rows=rows,
    group=Noun("instance", "instances"),
    step=Noun("load", "loads"),
)
