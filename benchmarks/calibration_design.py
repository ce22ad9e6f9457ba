"""Which crashes a calibration should make: designs judged by what they predict of logs of 8G, on machines that never were.

    .venv/bin/python -m benchmarks.calibration_design

A machine has the project's rates, each kind of work longer or shorter by a factor of its own, and each rate by another. A design
sees its crashes there with the noise that recoveries have, scales the project's rates by them as `make experiment calibrate`
does, and predicts. On real machines the six crashes at the ends predicted worse than the five (README.md beside this file).
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redolab.models.capacity import PAGE_SIZE
from redolab.models.recovery_time.fit import Fitted, Observation
from redolab.models.recovery_time.scaling import scaling
from redolab.models.recovery_time.terms import TERMS, Part, Separable
from redolab.models.recovery_time.work import Crash
from redolab.models.sizes import SMALLEST_DATASET, SMALLEST_POOL, default_dataset, default_pool
from redolab.servers.catalogue import server_catalogue
from redolab.sizing.calibration import CalibratedServer, Calibration, shipped_calibration
from redolab.units import GIB, MIB

_SERVERS = ("mariadb-10.11", "mysql-9")
_STORAGES = ("native", "cloud-ssd")
_MACHINES = 200
_OF_KIND, _OF_RATE = 0.35, 0.15
"""Standard deviations of logarithms: of the factor of a kind of work, and of a rate beside that."""
_OF_CRASH, _OF_RECOVERY = 0.08, 0.06
_FULL = 0.92
_ASKED = (8 * GIB,)
_ASKED_POOLS = (2 * GIB, 32 * GIB)


_LONG_RECORDS, _SHORT_RECORDS = "bulk-update", "oltp_write_only"
_FEW_TABLES, _MANY_TABLES = 1 / 8, 2.0
"""In sizes of the log."""
_EARLY = 0.3
"""Share of the hard limit: an age at which hardly any load is crashed by the lab, and most of production is."""


@dataclass(frozen=True, slots=True)
class EndCrash:
    """One crash; sizes in bytes."""

    log_size: int
    tables: int
    workload: str
    age_share: float | None = None
    """Of the hard limit; None: as far as a load keeps to."""


def end_crashes(log_sizes: Sequence[int]) -> list[EndCrash]:
    """Six crashes with two sizes of log in bytes; of each size between them one as the lab's other experiments have it."""
    small, *between, large = sorted(log_sizes)
    corners = [
        EndCrash(small, _tables(small, _FEW_TABLES), _LONG_RECORDS),
        EndCrash(small, _tables(small, _MANY_TABLES), _SHORT_RECORDS),
        EndCrash(large, _tables(large, _FEW_TABLES), _SHORT_RECORDS),
        EndCrash(large, _tables(large, _MANY_TABLES), _LONG_RECORDS),
    ]
    early = EndCrash(large, default_dataset(large), _LONG_RECORDS, _EARLY)
    usual = [EndCrash(size, default_dataset(size), _LONG_RECORDS) for size in (*between, large)]
    return [*corners, early, *usual]


def _tables(log_size: int, logs: float) -> int:
    return max(SMALLEST_DATASET, int(log_size * logs))


@dataclass(frozen=True)
class Design:
    """Crashes, each with the pools that it is recovered with."""

    name: str
    crashes: Sequence[tuple[EndCrash, tuple[int, ...]]]


def designs() -> list[Design]:
    """That of `make experiment calibrate`, and what was tried instead: log, tables and kind of redo small and large, no two together."""
    sizes = (256 * MIB, 512 * MIB, GIB)
    before = [
        *(EndCrash(size, default_dataset(size), _LONG_RECORDS) for size in sizes),
        *(EndCrash(size, default_dataset(size), _SHORT_RECORDS) for size in sizes[:2]),
    ]
    ends = end_crashes((256 * MIB, GIB))
    return [
        Design(
            "full logs, tables of half", [(each, (default_pool(each.tables), each.log_size // 4)) for each in before]
        ),
        Design("ends", [(each, (each.log_size // 4, 4 * GIB)) for each in ends]),
        Design(
            "ends, pools of a sixteenth", [(each, (max(SMALLEST_POOL, each.log_size // 16), 4 * GIB)) for each in ends]
        ),
        Design(
            "ends, without the early crash",
            [(each, (each.log_size // 4, 4 * GIB)) for each in ends if each.age_share is None],
        ),
    ]


def main() -> None:
    """Print a row for each server and design."""
    known = shipped_calibration()
    for name in _SERVERS:
        for design in designs():
            taken = sum(seconds for _, seconds in _work_of(known, name, design))
            errors = [each for seed in range(_MACHINES) for each in _errors(known, name, design, seed)]
            off = statistics.median(abs(each) for each in errors)
            spread = math.sqrt(statistics.fmean(each**2 for each in errors))
            print(
                f"{name:14} {design.name:30} 8G off by {off:5.1%} (median), spread {spread:.2f}; "
                f"{len(design.crashes)} crashes, recoveries {taken / 60:.0f} min on {' and '.join(_STORAGES)}"
            )


def _errors(known: Calibration, name: str, design: Design, seed: int) -> list[float]:
    """ln(true / predicted) of every recovery that is asked about, on one machine."""
    draw = random.Random(seed)
    server = known.servers[name]
    truth = _other_machine(server, draw)
    seen = []
    for crash, pools in design.crashes:
        of_crash = draw.gauss(0, _OF_CRASH)
        for storage, pool in itertools.product(_STORAGES, pools):
            factor = math.exp(of_crash + draw.gauss(0, _OF_RECOVERY))
            seen.append(
                (server.workloads[crash.workload].fitted, _observed(known, name, truth, crash, storage, pool, factor))
            )
    factors = scaling(seen)
    errors = []
    for workload, size, pool, storage in itertools.product(
        (_LONG_RECORDS, _SHORT_RECORDS), _ASKED, _ASKED_POOLS, _STORAGES
    ):
        asked = EndCrash(size, default_dataset(size), workload)
        there = _crash(server, name, asked)
        disk = known.storages[storage].disk
        predicted = factors.of(server.workloads[workload].fitted).ready(there, pool, disk)
        errors.append(math.log(truth[workload].ready(there, pool, disk) / predicted))
    return errors


def _work_of(known: Calibration, name: str, design: Design) -> list[tuple[EndCrash, float]]:
    """What its recoveries take on the project's machine, in seconds."""
    server = known.servers[name]
    return [
        (
            crash,
            server.workloads[crash.workload].fitted.ready(
                _crash(server, name, crash), pool, known.storages[storage].disk
            ),
        )
        for crash, pools in design.crashes
        for storage, pool in itertools.product(_STORAGES, pools)
    ]


def _other_machine(server: CalibratedServer, draw: random.Random) -> Mapping[str, Fitted]:
    """Its rates: one for all workloads, as it is the same machine."""
    kinds: dict[Part | None, float] = {}
    each_rate: dict[str, float] = {}
    found = {}
    for workload, learnt in server.workloads.items():
        rates = {}
        for term in TERMS:
            if term.name in learnt.rates:
                kind = None if term.told_by is Separable.DISKS else term.part
                of_kind = kinds.setdefault(kind, math.exp(draw.gauss(0, _OF_KIND)))
                of_rate = each_rate.setdefault(term.name, math.exp(draw.gauss(0, _OF_RATE)))
                rates[term.name] = learnt.rates[term.name] * of_kind * of_rate
        found[workload] = Fitted(learnt.memory, rates)
    return found


def _crash(server: CalibratedServer, name: str, crash: EndCrash) -> Crash:
    """Pages: as many as that workload changes of tables of half the log, fewer of smaller tables, as they are met again."""
    dialect = server_catalogue().get(name).dialect()
    redo = int(dialect.capacity(dialect.layout(crash.log_size)).hard_limit * (crash.age_share or _FULL))
    usual = server.workloads[crash.workload].dirty_pages.at(redo)
    tables = crash.tables / PAGE_SIZE
    of_usual = default_dataset(crash.log_size) / PAGE_SIZE
    # Pages met by draws at random: tables · (1 − e^(−draws / tables)), with the draws that met the usual number of the usual tables.
    draws = -of_usual * math.log(max(1e-3, 1 - min(0.999, usual / of_usual)))
    return Crash(redo=redo, dirty_pages=tables * (1 - math.exp(-draws / tables)))


def _observed(
    known: Calibration, name: str, truth: Mapping[str, Fitted], crash: EndCrash, storage: str, pool: int, factor: float
) -> Observation:
    server = known.servers[name]
    there, disk = _crash(server, name, crash), known.storages[storage].disk
    fitted = truth[crash.workload]
    stretches = {frozenset({part}): seconds * factor for part, seconds in fitted.parts(there, pool, disk).items()}
    work = fitted.work(there, pool)
    return Observation(
        run="run", server=name, family=server.family, storage=storage, crash_name=f"{crash}", log_size=crash.log_size, pool=pool,
        workload=crash.workload, crash=there, disk=disk, batches=work.batches, pages=work.pages, stretches=stretches,
        ready=sum(stretches.values()),
    )  # fmt: skip


if __name__ == "__main__":
    main()
