"""The page of the README's first command: one crash with a large redo log, recovered with two buffer pools."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.results.crashes import crashes_of, samples_of
from redolab.runs.store import Run
from redolab.units import format_size

from ..plots import plot_age
from .tables import on_page

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of the last run kept for it, and its pictures."""
    run = runs[-1]
    shown, (image,) = on_page(run), crashes_of(run)
    age = Plot("age", partial(plot_age, image=image, samples=samples_of(run, image.name), stem="age"))
    values = {
        "shown": shown,
        "log": format_size(image.spec.instance.log_size),
        "dataset": format_size(image.spec.dataset.size),
        "workload": image.spec.workload,
        "clients": image.spec.threads,
        "filled_to": image.spec.kill.filled_to(),
        "why_killed": image.why_killed,
    }
    return Page(filled(_TEMPLATE, values), [shown.phases(), age])
