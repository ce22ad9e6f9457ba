"""How long do recoveries take on this machine, after a few small crashes: what predicts the large ones here?"""

from __future__ import annotations

from functools import partial

from redolab.results.committed import LEARNED_FROM, NEVER_LEARNED_FROM
from redolab.results.rows import recovery_rows
from redolab.runs.experiment import Experiment, Named, Noun, by_name

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, "redolab.records.plan:CrashPlan"),
    bench=Named(__name__, "redolab.bench.crash_bench:CrashBench"),
    report=Named(__name__, ".report:report"),
    pages={"model": Named(__name__, ".pages.model:page")},
    page_runs={"model": [*LEARNED_FROM, *NEVER_LEARNED_FROM]},
    rows=recovery_rows,
    group=Noun("crash", "crashes"),
    step=Noun("recovery", "recoveries"),
)
