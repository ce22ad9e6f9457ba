"""Recoveries of a server whose rates are known, as if they had been measured."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Mapping, Sequence

import msgspec

from redolab.predict.recovery_time.fit import Fitted, Observation, fit_together
from redolab.predict.recovery_time.terms import DiskRates, Part
from redolab.predict.recovery_time.work import CrashSize, DirtyPages, Memory
from redolab.units import GIB, MIB

MEMORY = Memory(per_byte=2.0, pages_per_dirty_page=1.1, repetition=0.8)
RATES: Mapping[str, float] = {
    "redo": 4.0,
    "crowding": 0.6,
    "log reads": 0.7,
    "applied redo": 3.0,
    "batches": 0.1,
    "later stored redo": 1.0,
    "page reads": 0.9,
    "page writes": 0.5,
    "write waits": 0.05,
    "later log reads": 0.5,
    "start": 0.9,
    "single reads": 20.0,
}
REDO_OF_A_PAGE = 15_000
"""Bytes of redo for each dirty page."""
DIRTY_PAGES = DirtyPages(at_most=1e9 / REDO_OF_A_PAGE, most_redo=1e9, power=1.0)
KNOWN = Fitted(memory=MEMORY, rates=RATES, dirty_pages=DIRTY_PAGES)
FAST = DiskRates(read_us=60, write_us=60, queued_reads_per_s=50_000, in_order_mb_s=900, sequential_mb_s=1500)
SLOW = DiskRates(read_us=640, write_us=600, queued_reads_per_s=3_000, in_order_mb_s=96, sequential_mb_s=131)
SEQUENTIAL = DiskRates(read_us=4650, write_us=210, queued_reads_per_s=2_400, in_order_mb_s=450, sequential_mb_s=650)
DISKS = {"local": FAST, "gp3-3000": SLOW, "hdd-raid10": SEQUENTIAL}
MANY_DISKS = DISKS | {
    "gp3-16000": DiskRates(
        read_us=650, write_us=620, queued_reads_per_s=16_000, in_order_mb_s=520, sequential_mb_s=1000
    ),
    "sata-ssd": DiskRates(read_us=140, write_us=130, queued_reads_per_s=29_000, in_order_mb_s=480, sequential_mb_s=500),
    "hdd": DiskRates(read_us=12_600, write_us=390, queued_reads_per_s=240, in_order_mb_s=140, sequential_mb_s=120),
}


def with_rates(**factors: float) -> Fitted:
    """Return the known server with some rates multiplied; `all`: every rate."""
    return msgspec.structs.replace(
        KNOWN,
        rates={
            name: factors.get(name.replace(" ", "_"), factors.get("all", 1.0)) * rate for name, rate in RATES.items()
        },
    )


def fit(recoveries: Sequence[Observation]) -> Fitted:
    """Return the rates of recoveries of one server under one workload, from them alone."""
    (fitted,) = fit_together(recoveries).values()
    return fitted


def crash(log_size: int) -> CrashSize:
    """A crash with a log of that size filled up to where flushing is forced."""
    redo = 0.7 * log_size
    return CrashSize(redo=redo, dirty_pages=redo / REDO_OF_A_PAGE)


def observations(
    server: str = "mariadb-10.11",
    *,
    known: Fitted = KNOWN,
    sizes: Sequence[int] = (256 * MIB, 512 * MIB, GIB, 4 * GIB),
    noise: float = 0.0,
    seed: int = 1,
    workload: str = "bulk-update",
    disks: Mapping[str, DiskRates] = DISKS,
) -> list[Observation]:
    """Two recoveries of two crashes a size, on each disk with a quarter and three quarters of the log as pool.

    `noise`: the standard deviation by which the parts of a crash, and again of a recovery, are longer or shorter (as a share).
    """
    draw = random.Random(seed)
    found = []
    for size, number in itertools.product(sizes, (1, 2)):
        of_crash = draw.gauss(0, noise)
        for (storage, disk), quarters, _ in itertools.product(disks.items(), (1, 3), (1, 2)):
            pool = size * quarters // 4
            factor = 1 + of_crash + draw.gauss(0, noise)
            work = known.work(crash(size), pool)
            stretches = {
                frozenset({part}): seconds * factor for part, seconds in known.parts(crash(size), pool, disk).items()
            }
            found.append(
                Observation(
                    run=f"run {number}",
                    server=server,
                    family=server.partition("-")[0],
                    storage=storage,
                    crash_name=f"{server}-{workload}-{size}-{number}",
                    log_size=size,
                    pool=pool,
                    workload=workload,
                    crash=crash(size),
                    disk=disk,
                    batches=work.batches,
                    pages=work.pages,
                    tables=size // 2,
                    stretches=stretches,
                    ready=sum(stretches.values()),
                )
            )
    return found


def together(observation: Observation, *parts: Part) -> Observation:
    """The same where the log does not tell some parts apart."""
    apart = {frozenset({part}) for part in parts}
    rest = {key: seconds for key, seconds in observation.stretches.items() if key not in apart}
    joined = sum(observation.stretches[key] for key in apart)
    return dataclasses.replace(observation, stretches={**rest, frozenset(parts): joined})
