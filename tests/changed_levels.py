"""Made-up trials of the experiment settings, and what levels change in them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars

from redolab.results.changed_settings import BASELINE, changed_settings
from redolab.units import MIB

Trial = dict[str, Any]


def trial(block: int, setting: str, level: str, rate: float, *, run: str = "one", log_size: int = 64 * MIB) -> Trial:
    """A load with so many commits a second, and a recovery that takes as many milliseconds."""
    return {
        "run": run, "machine": "local", "cpu": "a CPU", "label": "MariaDB 10.11.19", "age": 0, "workload": "tpcc",
        "storage": "local", "log_size_bytes": log_size, "fill_pool_bytes": 128 * MIB, "dataset_bytes": 64 * MIB,
        "threads": 8, "crash_number": block, "image": f"{setting}={level}", "setting": setting, "level": level,
        "notpm": None, "commits_per_s": rate, "ready_s": rate / 1000, "latency_95_ms": rate / 100, "failed_per_s": 0.0,
        "log_waits": 0, "load_cpu_share": 0.9, "load_fillings": 2.0,
    }  # fmt: skip


def blocks(*rates: float, level: float = 0.8, run: str = "one", log_size: int = 64 * MIB) -> list[Trial]:
    """The baseline twice and one level of one setting, in a block for each of these rates of the baseline."""
    made = partial(trial, run=run, log_size=log_size)
    found = []
    for block, rate in enumerate(rates, 1):
        found += [made(block, BASELINE, BASELINE, part * rate) for part in (0.99, 1.01)]
        found += [made(block, "a", "0", level * rate)]
    return found


def changed(trials: Sequence[Trial], before: str = "1", used: str = "0", setting: str = "a") -> list[Trial]:
    """Changes of levels, of a server that said what it used."""
    of_images = {f"{BASELINE}={BASELINE}": {setting: before}, "a=0": {setting: used}}
    variables = {image: {**each, "innodb_log_files_in_group": "2"} for image, each in of_images.items()}
    return changed_settings(polars.DataFrame(trials, infer_schema_length=None), variables).to_dicts()
