"""What does a larger redo log gain by turns within one load, and what do clients meet while a running server gets it?"""

from __future__ import annotations

from functools import partial

from redolab.runs.experiment import Experiment, Named, Noun, by_name

from .rows import rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, "redolab.records.turns:ResizingPlan"),
    bench=Named(__name__, ".bench:ResizingBench"),
    report=Named(__name__, ".report:report"),
    rows=rows,
    pages={"resizing": Named(__name__, ".pages.resizing:page")},
    group=Noun("load", "loads"),
    step=Noun("block", "blocks"),
)
