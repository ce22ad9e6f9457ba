"""What does rotating a slow query log do to a busy server, and what is lost of the log?"""

from __future__ import annotations

from functools import partial

from redolab.runs.experiment import Experiment, Named, Noun, by_name

from .rows import rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, ".planned:RotationPlan"),
    bench=Named(__name__, ".bench:RotationBench"),
    report=Named(__name__, ".report:report"),
    pages={"rotation": Named(__name__, ".pages.rotation:page")},
    rows=rows,
    group=Noun("instance", "instances"),
    step=Noun("rotation", "rotations"),
)
