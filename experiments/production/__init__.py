"""How long do recoveries take after crashes at random moments of a load under the settings of production?"""

from __future__ import annotations

from functools import partial

from redolab.results.committed import OTHER_MACHINES, RECOVERY_PAGES
from redolab.results.rows import recovery_rows
from redolab.runs.experiment import Experiment, Named, Noun, by_name

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, "redolab.records.plan:CrashPlan"),
    bench=Named(__name__, "redolab.bench.crash_bench:CrashBench"),
    report=Named(__name__, ".report:report"),
    pages={"production": Named(__name__, ".pages.production:page")},
    page_runs={"production": [*RECOVERY_PAGES, *OTHER_MACHINES]},
    rows=recovery_rows,
    group=Noun("crash", "crashes"),
    step=Noun("recovery", "recoveries"),
)
