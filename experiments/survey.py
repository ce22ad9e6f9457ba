"""The experiment survey: crashes and recoveries under conditions drawn at random.

Crashes are drawn so that redo, dirty pages and batches vary independently: a Latin hypercube in logarithms. If tables are
half of the log, the log full and the pool a share of it, all of these grow together, and no fit can separate their times.
McKay, Beckman and Conover (1979) describe the sampling: every interval of each quantity is drawn once.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from redolab.crash.bench.crash_experiment import CrashExperiment
from redolab.crash.bench.crash_plan import PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import CrashFactors, check_log_sizes, crash_factor, storages_factor, workload_name
from redolab.crash.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.report.contents import Report
from redolab.runs.factors import factor, keep_factor, repeat_factor, several, whole_number
from redolab.runs.plan import Blocks
from redolab.runs.store import Run
from redolab.servers.catalogue import server_names
from redolab.servers.sizes import SMALLEST_DATASET, SMALLEST_POOL
from redolab.units import MIB, parse_size

if TYPE_CHECKING:
    from redolab.crash.wanted import WantedCrash
    from redolab.lab import Lab

_OCTAVES = (-3, 3)
"""Size of the tables relative to the log, in octaves: whole ones, since a dataset serves several crashes."""
_AGE = (0.2, 1.0)
"""Range of the checkpoint age, as shares of the hard limit."""
_FULL = 0.92
"""Share from which on the log is filled as far as a load goes."""
_POOL_UNDER_LOAD = (0.25, 4.0)
"""Range of the buffer pool under load, as multiples of the tables: production's often hold only a part."""
_SMALLEST_POOL_UNDER_LOAD = 128 * MIB
_SMALLEST_POOL_SHARE = 1 / 16
"""Smallest pool of a recovery, as a share of the log."""
_MOST_NEEDED = 3.5
"""Bytes of the pool for a byte of redo, of the servers that need most (docs/results/model.md)."""
_ROOMY = 4.0
"""Largest pool, as a multiple of one that holds all redo."""
_STEP = 16 * MIB


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the experiment; sizes in bytes."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "mariadb-11.8,mysql-9")
    storage: tuple[str, ...] = storages_factor()
    log_size: tuple[int, ...] = factor("Redo log sizes, with commas.", several(parse_size), "256M,1G")
    workload: tuple[str, ...] = factor(
        "What fills the log, with commas.", several(workload_name), "bulk-update,oltp_write_only"
    )
    crashes: int = factor(
        "Crashes drawn for each server, log size and workload; the more, the finer they cover what can be.",
        whole_number(1, 1000),
        "6",
    )
    pools: int = factor(
        "Buffer pools drawn for each crash and storage, and recovered with once each.", whole_number(1, 20), "2"
    )
    most_memory: int = factor("The largest buffer pool that is drawn.", parse_size, "16G")
    crash: str = crash_factor()
    keep: bool = keep_factor("off")
    repeat: int = repeat_factor("How often each recovery is measured.", "1")

    @override
    def check(self) -> None:
        check_log_sizes(self.server, self.log_size)


class Survey(CrashExperiment[Factors, PlannedCrash, PlannedRecovery]):
    """Crashes under conditions drawn at random, each recovered with pools drawn for it."""

    question = (
        "How long do recoveries take under conditions drawn at random from all that can be: tables, age, buffer pools?"
    )

    @classmethod
    @override
    def blocks(cls, factors: Factors, lab: Lab) -> Blocks[PlannedCrash, PlannedRecovery]:
        from redolab.crash.bench.planning import planned_crashes

        seed = factors.seed
        drawn = [
            (server, each, _wanted(factors, workload, size, each, number))
            for server, size, workload in itertools.product(factors.server, factors.log_size, factors.workload)
            for number, each in enumerate(
                drawn_crashes(
                    size, factors.crashes, factors.pools, factors.most_memory, f"{seed} {server} {workload} {size}"
                ),
                start=1,
            )
        ]
        drawn.sort(key=lambda one: (one[0], one[2].log_size, one[1].tables, one[2].workload))
        pools = [each.pools for _, each, _ in drawn]
        crashes = planned_crashes(lab, [(server, wanted) for server, _, wanted in drawn], itertools.chain(*pools))
        recoveries = [
            [
                PlannedRecovery(storage=storage, pool=pool)
                for storage, pool in itertools.product(factors.storage, of_crash)
            ]
            for of_crash in pools
        ]
        return [list(zip(crashes, recoveries, strict=True))]

    @classmethod
    @override
    def together(cls, crash: PlannedCrash) -> Hashable:
        """Return the dataset of a crash: with `KEEP=off` all datasets at once would take too much space."""
        return crash.spec.dataset

    @classmethod
    @override
    def report(cls, run: Run) -> Report:
        from redolab.predict.judging_tables import judged_report, strata_table

        return judged_report(run, lambda judged, _: [strata_table(judged)])


def _wanted(factors: Factors, workload: str, log_size: int, drawn: DrawnCrash, number: int) -> WantedCrash:
    from redolab.crash.wanted import WantedCrash

    return WantedCrash(
        log_size=log_size,
        dataset=drawn.tables,
        workload=workload,
        kill=HIGHEST_AGE if drawn.age_share is None else KillRule(age_fraction=drawn.age_share),
        open_transaction_rows=0,
        fill_pool=drawn.pool_under_load,
        number=number,
        crash=factors.crash,
    )


@dataclass(frozen=True, slots=True)
class DrawnCrash:
    """One crash; sizes in bytes."""

    tables: int
    age_share: float | None
    """Share of the hard limit at the crash; None: as far as a load goes."""
    pool_under_load: int
    pools: tuple[int, ...]
    """Buffer pools to recover with."""


def drawn_crashes(log_size: int, count: int, pools: int, most_memory: int, seed: str) -> list[DrawnCrash]:
    """Return `count` crashes of a log of `log_size` bytes, equal for equal seeds, with pools up to `most_memory`."""
    from scipy.stats import qmc

    draw = random.Random(seed)
    points = qmc.LatinHypercube(d=3, rng=draw.randrange(2**32)).random(count).tolist()
    return [_crash(point, log_size, pools, most_memory, draw) for point in points]


def _crash(point: Sequence[float], log_size: int, pools: int, most_memory: int, draw: random.Random) -> DrawnCrash:
    of_tables, of_age, of_pool = point
    least, most = _OCTAVES
    octave = min(most, least + math.floor(of_tables * (most - least + 1)))
    tables = max(SMALLEST_DATASET, int(log_size * 2.0**octave))
    age_share = _between(of_age, *_AGE)
    under_load = _between_logarithms(of_pool, *(tables * share for share in _POOL_UNDER_LOAD))
    least_pool = max(SMALLEST_POOL, log_size * _SMALLEST_POOL_SHARE)
    most_pool = min(most_memory, _ROOMY * _MOST_NEEDED * age_share * log_size)
    # Draw one pool of each crash from every interval of the range.
    of_pools = [(place + draw.random()) / pools for place in range(pools)]
    return DrawnCrash(
        tables=tables,
        age_share=None if age_share >= _FULL else round(age_share, 3),
        pool_under_load=_whole(min(most_memory, max(_SMALLEST_POOL_UNDER_LOAD, under_load))),
        pools=tuple(dict.fromkeys(_whole(_between_logarithms(share, least_pool, most_pool)) for share in of_pools)),
    )


def _between(share: float, least: float, most: float) -> float:
    return least + share * (most - least)


def _between_logarithms(share: float, least: float, most: float) -> float:
    return math.exp(_between(share, math.log(least), math.log(max(least, most))))


def _whole(size: float) -> int:
    """Return a size in whole steps, as a DBA would set it."""
    return max(SMALLEST_POOL, round(size / _STEP) * _STEP)
