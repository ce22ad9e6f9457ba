"""Does removing binary logs stall writers, and does it depend on the size of the files?"""

from __future__ import annotations

from functools import partial

from redolab.runs.experiment import Experiment, Named, Noun, by_name

from .rows import rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, ".planned:PurgePlan"),
    bench=Named(__name__, ".bench:PurgeBench"),
    report=Named(__name__, ".report:report"),
    pages={"binlog-purge": Named(__name__, ".pages.binlog_purge:page")},
    rows=rows,
    group=Noun("instance", "instances"),
    step=Noun("removal", "removals"),
)
