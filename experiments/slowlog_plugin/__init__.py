"""What does it cost to log every statement: by the server's own slow query log, or by a plugin that takes no lock?"""

from __future__ import annotations

from functools import partial

from redolab.runs.experiment import Experiment, Named, Noun, by_name

from .rows import rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, ".bench:PluginPlan"),
    bench=Named(__name__, ".bench:PluginBench"),
    report=Named(__name__, ".report:report"),
    pages={"slowlog-plugin": Named(__name__, ".pages.slowlog_plugin:page")},
    rows=rows,
    group=Noun("instance", "instances"),
    step=Noun("trial", "trials"),
)
