"""Whether intervals hold what they claim, from the crashes to the prediction: whole fits in worlds whose rates are known.

A world is a server with rates of its own, a survey of 12 crashes with logs of 256M and 1G, each recovered with two pools on two
disks, and crashes of the future. What differs between crashes made alike, and between recoveries of one crash, is drawn, too.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from experiments.survey.design import drawn_crashes
from redolab.models.recovery_time.fit import Fitted, Observation, fit_together
from redolab.models.recovery_time.held_out import HeldOut, judged
from redolab.models.recovery_time.spread import Spread, coverage, interval, together
from redolab.models.recovery_time.terms import DiskRates
from redolab.models.recovery_time.work import Crash, Memory
from redolab.sizing.calibration import spreads_of
from redolab.units import GIB, MIB

_LOGS = (256 * MIB, GIB)
_CRASHES = 6
"""Of each size of log."""
_OF_CRASH, _OF_RECOVERY = 0.12, 0.04
"""Standard deviations of logarithms."""
_RATES: Mapping[str, float] = {
    "redo": 4.0, "stored redo": 3.0, "pages": 0.05, "page reads": 0.9, "page writes": 0.5, "log reads": 0.7,
    "opening": 0.3, "starting": 0.6,
}  # fmt: skip
_DISKS = {
    "native": DiskRates(read_us=60, write_us=60, queued_reads_per_s=50_000, in_order_mb_s=900, sequential_mb_s=1500),
    "cloud-ssd": DiskRates(read_us=640, write_us=600, queued_reads_per_s=3_000, in_order_mb_s=96, sequential_mb_s=131),
}
_SERVER = "server"


@dataclass(frozen=True)
class Future:
    """What is asked of a world after its survey."""

    what: str
    log_size: int
    ways: tuple[HeldOut, ...]


_FUTURES = (
    Future("another crash", 512 * MIB, ()),
    Future("a log of 4G", 4 * GIB, (HeldOut.LOG_SIZE,)),
)


def main() -> None:
    """Print how often the intervals held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    worlds = parser.parse_args().worlds
    inside: Counter[str] = Counter()
    above: Counter[str] = Counter()
    with ProcessPoolExecutor() as processes:
        for told in processes.map(_world, range(worlds), chunksize=10):
            for what, (is_inside, is_above) in told.items():
                inside[what] += is_inside
                above[what] += is_above
    print(f"{worlds} worlds of {_CRASHES * len(_LOGS)} crashes")
    for future in _FUTURES:
        low, high = coverage(inside[future.what], worlds)
        least, most = coverage(above[future.what], worlds)
        print(
            f"{future.what:14} in the 90 % interval {inside[future.what] / worlds:.1%} ({low:.1%} to {high:.1%}), "
            f"above it {above[future.what] / worlds:.1%} ({least:.1%} to {most:.1%})"
        )


def _world(seed: int) -> Mapping[str, tuple[bool, bool]]:
    draw = random.Random(seed)
    known = Fitted(
        Memory(per_byte=draw.uniform(1.0, 3.5), pages_per_dirty_page=1.1, repetition=draw.uniform(0.2, 0.9)),
        {name: rate * math.exp(draw.gauss(0, 0.4)) for name, rate in _RATES.items()},
    )
    seen = [
        each
        for log_size in _LOGS
        for number, crash in enumerate(drawn_crashes(log_size, _CRASHES, 2, 16 * GIB, f"{seed} {log_size}"))
        for each in _recoveries(known, draw, log_size, number, crash.age_share or 0.95, crash.pools)
    ]
    fitted = fit_together(seen)[_SERVER, "load"]
    # A larger log is what no crash of this survey can be held out as: it is taken from one that had them.
    spreads = spreads_of(judged(seen, {}))
    found = {}
    for future in _FUTURES:
        (asked,) = _recoveries(
            known, draw, future.log_size, -1, draw.uniform(0.2, 0.95), (future.log_size // 2,), ("native",)
        )
        spread = _spread(spreads, future)
        low, high = interval(fitted.ready(asked.crash, asked.pool, asked.disk), spread, 0.9)
        found[future.what] = (low <= asked.ready <= high, asked.ready > high)
    return found


def _spread(spreads: Mapping[HeldOut, Spread], future: Future) -> Spread:
    return together(spreads[HeldOut.CRASH], [spreads[way] for way in future.ways if way in spreads])


def _recoveries(
    known: Fitted,
    draw: random.Random,
    log_size: int,
    number: int,
    age_share: float,
    pools: tuple[int, ...],
    storages: tuple[str, ...] = tuple(_DISKS),
) -> list[Observation]:
    """Of one crash, whose redo and pages are drawn apart from one another."""
    redo = 0.8 * log_size * age_share
    crash = Crash(redo=redo, dirty_pages=redo / math.exp(draw.uniform(math.log(6_000), math.log(40_000))))
    of_crash = draw.gauss(0, _OF_CRASH)
    found = []
    for storage in storages:
        for pool in pools:
            factor = math.exp(of_crash + draw.gauss(0, _OF_RECOVERY))
            parts = known.parts(crash, pool, _DISKS[storage])
            stretches = {frozenset({part}): seconds * factor for part, seconds in parts.items()}
            work = known.work(crash, pool)
            found.append(
                Observation(
                    run="run", server=_SERVER, family="family", storage=storage,
                    crash_name=f"{log_size} {number}", log_size=log_size, pool=pool, workload="load", crash=crash,
                    disk=_DISKS[storage], batches=work.batches, pages=work.pages, stretches=stretches,
                    ready=sum(stretches.values()),
                )
            )  # fmt: skip
    return found


if __name__ == "__main__":
    main()
