"""How long does crash recovery take with a redo log of this size, on each storage, with each buffer pool?"""

from __future__ import annotations

from functools import partial

from redolab.results.committed import (
    FOLLOWED,
    FOURTH_MACHINE,
    INTEL_MACHINE,
    READ_THREADS,
    SLOWER_MACHINE,
    THIRD_MACHINE,
)
from redolab.results.rows import recovery_rows
from redolab.runs.experiment import CheckCell, Experiment, Named, Noun, by_name

EXPERIMENT = Experiment(
    question=__doc__.strip(),
    factors=partial(by_name, __name__, ".factors:Factors"),
    plan=Named(__name__, ".plan:plan"),
    plan_type=partial(by_name, __name__, "redolab.records.plan:CrashPlan"),
    bench=Named(__name__, "redolab.bench.crash_bench:CrashBench"),
    report=Named(__name__, ".report:report"),
    rows=recovery_rows,
    pages={
        "following": Named(__name__, ".pages.following:page"),
        "generations": Named(__name__, ".pages.generations:page"),
        "recovery": Named(__name__, ".pages.recovery:page"),
        "source": Named(__name__, ".pages.source:page"),
        "storage": Named(__name__, ".pages.storage:page"),
        "stuck": Named(__name__, ".pages.stuck:page"),
    },
    page_runs={
        "following": FOLLOWED,
        "generations": ["generations", THIRD_MACHINE, FOURTH_MACHINE],
        "recovery": ["model", SLOWER_MACHINE, THIRD_MACHINE],
        "storage": ["storage", "model", SLOWER_MACHINE],
        "stuck": ["stuck", READ_THREADS, INTEL_MACHINE],
    },
    check=CheckCell(Named(__name__, ".check:check"), "ready_s", "s to ready with a log of 64M"),
    group=Noun("crash", "crashes"),
    step=Noun("recovery", "recoveries"),
)
