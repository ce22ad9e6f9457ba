"""What decides how long a recovery takes: one baseline, and everything that could matter changed one at a time."""

from __future__ import annotations

from functools import partial

from redolab.results.committed import THIRD_MACHINE
from redolab.results.rows import recovery_rows
from redolab.runs.experiment import Experiment, Named, Noun, by_name

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, ".plan:AnatomyPlan"),
    bench=Named(__name__, "redolab.bench.crash_bench:CrashBench"),
    report=Named(__name__, ".report:report"),
    pages={"anatomy": Named(__name__, ".pages.anatomy:page")},
    page_runs={"anatomy": ["anatomy", THIRD_MACHINE]},
    rows=recovery_rows,
    group=Noun("crash", "crashes"),
    step=Noun("recovery", "recoveries"),
)
