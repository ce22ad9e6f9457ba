"""What throughput does a larger redo log gain, and what does it cost in recovery?"""

from __future__ import annotations

from functools import partial

from redolab.results.rows import load_rows
from redolab.runs.experiment import Experiment, Named, Noun, by_name

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, "redolab.records.plan:CrashPlan"),
    bench=Named(__name__, "redolab.bench.crash_bench:CrashBench"),
    report=Named(__name__, ".report:report"),
    rows=load_rows,
    pages={"throughput": Named(__name__, ".pages.throughput:page")},
    group=Noun("load", "loads"),
    step=Noun("recovery", "recoveries"),
)
