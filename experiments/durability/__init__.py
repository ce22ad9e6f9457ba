"""What does a power cut lose of what was acknowledged, with which settings?"""

from __future__ import annotations

from functools import partial

from redolab.runs.experiment import Experiment, Named, Noun, by_name

from .trial import rows

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, ".planned:DurabilityPlan"),
    bench=Named(__name__, ".bench:DurabilityBench"),
    report=Named(__name__, ".report:report"),
    pages={"durability": Named(__name__, ".pages.durability:page")},
    rows=rows,
    group=Noun("recording", "recordings"),
    step=Noun("batch of states", "batches of states"),
)
