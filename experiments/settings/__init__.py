"""Which settings matter here, each changed alone?"""

from __future__ import annotations

from functools import partial

from redolab.runs.experiment import Experiment, Named, Noun, by_name

from .rows import settings_rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, ".planned:SettingsPlan"),
    bench=Named(__name__, "redolab.bench.crash_bench:CrashBench"),
    report=Named(__name__, ".report:report"),
    rows=settings_rows,
    pages={"settings": Named(__name__, ".pages.settings:page")},
    group=Noun("load", "loads"),
    step=Noun("recovery", "recoveries"),
)
