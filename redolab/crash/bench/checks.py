"""Checks of the options of crashes and recoveries, made before anything is started."""

from __future__ import annotations

from collections.abc import Iterable

from redolab.crash.records.recovery import WINDOW
from redolab.crash.wanted import WantedCrash
from redolab.errors import InvalidInput
from redolab.runs.needs import Needs
from redolab.runs.room import check_room
from redolab.servers.sizes import SMALLEST_DATASET
from redolab.units import format_duration, format_size
from redolab.workloads.catalogue import workload_catalogue

SMALLER = "choose a smaller LOGSIZE, DATASET or POOL, remove crash images ('redolab images'), or KEEP=off to keep none"
"""Advice if crashes and recoveries do not fit."""
_SHORTEST_WARM_UP = 2 * WINDOW
"""Least seconds: in fewer, no whole window would end after the clients have started."""
_LONGEST_WARM_UP = 6 * 3600


def check_load(workload: str, *, warehouses: int | None, dataset: int | None, think_time: bool) -> None:
    """Refuse options that a workload does not have. Raises `InvalidInput`."""
    known = workload_catalogue().get(workload)
    if warehouses is not None and known.bytes_per_warehouse is None:
        raise InvalidInput(f"{workload} has no warehouses", "WORKLOAD=tpcc has, or give a DATASET")
    if warehouses is not None and dataset is not None:
        raise InvalidInput("warehouses and a dataset's size exclude each other", "give one of them")
    if dataset is not None and dataset < SMALLEST_DATASET:
        raise InvalidInput(
            f"a dataset of {format_size(dataset)} is too small", f"give it {format_size(SMALLEST_DATASET)} or more"
        )
    if think_time and not known.thinks:
        raise InvalidInput(f"{workload} has no think time", "WORKLOAD=tpcc has")


def check_lasts(what: str, seconds: float, least: float) -> None:
    """Refuse a load, or a part of one, that is too short to tell anything. Raises `InvalidInput`."""
    if seconds < least:
        raise InvalidInput(f"{what} of {format_duration(seconds)} is too short", f"choose {least:g}s or more")


def check_warm_up(seconds: float) -> None:
    """Refuse a time for which clients cannot be followed after a recovery. Raises `InvalidInput`."""
    if seconds and not _SHORTEST_WARM_UP <= seconds <= _LONGEST_WARM_UP:
        raise InvalidInput(
            f"clients cannot be followed for {seconds:g} s", f"choose 0s, or {_SHORTEST_WARM_UP:g}s to 6h"
        )


def check_memory(wanted: Iterable[WantedCrash], pools: Iterable[int]) -> None:
    """Refuse buffer pools that do not fit into memory, before a server is fetched. Raises `LabError`."""
    filling = [each.buffer_pool(each.log_size) for each in wanted]
    largest = max([*filling, *pools])
    check_room(Needs(memory=largest, remedy=SMALLER))
