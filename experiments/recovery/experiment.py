"""The experiment recovery: crashes with chosen redo log sizes, recovered on every storage with every buffer pool."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from typing_extensions import override

from redolab.crash.bench.crash_experiment import CrashExperiment
from redolab.crash.bench.crash_plan import CrashConditions, PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import (
    CrashFactors,
    asked_size,
    check_log_sizes,
    kind_of_crash,
    storages_factor,
    workload_name,
)
from redolab.crash.records.kill_rule import KillRule, Uniform
from redolab.errorlog.watch import STUCK_AFTER
from redolab.errors import InvalidInput
from redolab.runs.experiment import CheckCell
from redolab.runs.factors import factor, factors_of, on_or_off, repeat_factor, several, whole_number, words
from redolab.runs.plan import Blocks
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.servers.extra_settings import LOADS_POOL, NONE, asked_settings
from redolab.servers.sizes import check_pool, default_dataset, default_pool
from redolab.units import MIB, parse_duration, parse_size

if TYPE_CHECKING:
    from redolab.crash.records.crash import CrashImage, CrashSpec
    from redolab.lab import Lab

_FOLLOWED = 60.0
"""Seconds for which clients of TPC-C are followed, unless WARMUP says otherwise."""
_CHECK_LOG = 64 * MIB
_OPEN_WITH_IMAGE = {
    *("image", "storage", "pool", "settings", "warmup", "stuck_after", "follow", "check_disks", "repeat"),
    *("seed", "plan", "resume", "beside_others", "machine", "provider"),
}
"""Names of the factors that a kept crash image does not decide."""


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the experiment; sizes in bytes, times in seconds."""

    log_size: tuple[int, ...] = factor("Redo log sizes, with commas.", several(parse_size), "1G")
    server: tuple[str, ...] = factor(
        "Servers, with commas; all for every one (with its largest log where the size is beyond it).",
        server_names,
        "mariadb-10.11",
    )
    storage: tuple[str, ...] = storages_factor()
    pool: tuple[int, ...] | None = factor(
        "Buffer pool sizes to recover with, with commas (default: one that holds the tables, and a quarter of the log).",
        several(parse_size),
    )
    settings: tuple[str, ...] = factor(
        "Settings of the recovering server, as in innodb_read_io_threads=16: + between those that go together, commas to "
        "compare; none is the lab's own.",
        several(asked_settings),
        "none",
    )
    image: str | None = factor(
        "Recover this kept crash image ('redolab images') instead of crashing a server; it decides all that is of the crash, and the "
        "server unless SERVER is another of the same redo format.",
        str,
    )
    workload: str = factor("What fills the log.", workload_name, "bulk-update")
    dataset: int | None = factor("Size of the tables (default: half of the log, at least 64M).", parse_size)
    warehouses: int | None = factor(
        "Warehouses of TPC-C, instead of DATASET (default: as many as come to its size).", whole_number(1, 30_000)
    )
    threads: int = factor("Clients of the workload, each with a connection.", whole_number(1, 1024), "8")
    connections: int | None = factor("The same by its name in TPC-C (default: THREADS).", whole_number(1, 1024))
    think_time: bool = factor(
        "Whether TPC-C's clients wait between transactions as its terminals do.", on_or_off, "off"
    )
    kill_at: str | None = factor(
        "Kill at this checkpoint age, as in 2G, or share of the usable capacity, as in 75% (default: the highest that loads keep to).",
        str,
    )
    kill_after: float | None = factor(
        "Kill after so long instead, as in 30m; with KILLAT at what comes first.", parse_duration
    )
    open_transaction: int = factor(
        "Rows changed by a transaction that is open at the kill; 0 for none.", whole_number(0, 100_000_000), "100000"
    )
    warmup: float | None = factor(
        "After ready, start the clients anew and follow them until throughput is back at 90 % of its mean before the crash, for "
        "at most so long; 0s: not (default: 1m with TPC-C, else not).",
        parse_duration,
    )
    pool_dump: tuple[bool, ...] = factor(
        "on: the buffer pool is dumped right before the crash and loaded by the recovering server; off,on compares both.",
        several(on_or_off),
        "off",
    )
    crash: tuple[str, ...] = factor(
        "Kinds of crash, with commas: kill; freeze, which leaves the same files and lets the load go on; disk-power, which takes what was "
        "not flushed.",
        several(kind_of_crash),
        "kill",
    )
    moment: Uniform | None = factor(
        "Crash at a moment drawn between two, after the load began, as in 5m-30m; with freeze, CRASHES are all of one load.",
        Uniform.parse,
    )
    crashes: int = factor("Repeated crashes, each recovered as often.", whole_number(1, 100), "1")
    repeat: int = repeat_factor("How often each recovery is measured.", "3")
    trx_commit: int = factor("innodb_flush_log_at_trx_commit.", whole_number(0, 2), "1")
    binary_log: bool = factor("Whether the binary log is on.", on_or_off, "off")
    sample_every: float = factor("Time between two samples of the counters, 0.1s to 60s.", parse_duration, "1s")
    new_crash: bool = factor("Crash anew even if a crash image made to the same plan is kept.", on_or_off, "off")
    stuck_after: float = factor(
        "Without progress for so long, a recovery is stuck: a finding, and the next one follows.",
        parse_duration,
        f"{STUCK_AFTER:.0f}s",
    )
    follow: bool = factor(
        "Look at each recovering server as 'redolab follow' does, and keep what it would have seen.", on_or_off, "off"
    )

    @override
    def check(self) -> None:
        from redolab.crash.bench.checks import check_load, check_warm_up

        if refused := [each.variable for each in factors_of(Factors) if each.name in self._decided() & self.given]:
            raise InvalidInput(f"with IMAGE there is nothing to choose of {', '.join(refused)}", "leave that out")
        for pool in self.pool or ():
            check_pool(pool)
        if not 0.1 <= self.sample_every <= 60:
            raise InvalidInput(f"a sample every {self.sample_every} s is not possible", "choose 0.1s to 60s")
        if not 5 <= self.stuck_after <= 6 * 3600:
            raise InvalidInput(f"stuck after {self.stuck_after:g} s is not possible", "choose 5s to 6h")
        check_warm_up(self.warmup or 0.0)
        if self.image is None:
            self._check_servers()
            self.rule()
            check_load(self.workload, warehouses=self.warehouses, dataset=self.dataset, think_time=self.think_time)

    def _check_servers(self) -> None:
        """Refuse a redo log or a dump of the buffer pool that a server does not have. Raises `InvalidInput`."""
        for name in self.server:
            dialect = server_catalogue().get(name).dialect()
            # Of several servers each has its largest log where the size is beyond it.
            largest = dialect.largest_log if len(self.server) > 1 else max(self.log_size)
            check_log_sizes([name], [min(size, largest) for size in self.log_size])
            if any(self.pool_dump) and not dialect.dumps_pool:
                raise InvalidInput(f"{name} cannot dump its buffer pool", "leave it out, or POOLDUMP=off")

    def rule(self) -> KillRule:
        """Return the rule that decides when the server is crashed. Raises `InvalidInput`."""
        if self.moment is None:
            return KillRule.from_options(self.kill_at, self.kill_after)
        if self.kill_at is not None or self.kill_after is not None:
            raise InvalidInput("a drawn moment leaves nothing for KILLAT and KILLAFTER to decide", "give one of them")
        return KillRule(moment=self.moment)

    def warm_for(self, workload: str) -> float:
        """Return the seconds for which the workload's clients are followed at most; 0: they are not started anew."""
        from redolab.workloads.catalogue import workload_catalogue

        if self.warmup is not None:
            return self.warmup
        return _FOLLOWED if workload_catalogue().get(workload).bytes_per_warehouse else 0.0

    @override
    def in_words(self) -> dict[str, str]:
        """Return the chosen factors as text; the lab's own settings have their name, so that it can be read again."""
        chosen = {**super().in_words(), "settings": words(tuple(each or NONE for each in self.settings))}
        return {name: text for name, text in chosen.items() if name not in self._decided()}

    def _decided(self) -> set[str]:
        """Return the names of the factors that a kept crash image decides."""
        if self.image is None:
            return set()
        return {each.name for each in factors_of(Factors)} - _OPEN_WITH_IMAGE - (self.given & {"server"})


def _check_cell(factors: Any) -> Factors:
    """Return one small crash of the run's first server and three recoveries of it, the same on every machine."""
    return Factors(
        log_size=(_CHECK_LOG,),
        server=factors.server[:1],
        pool=(default_pool(default_dataset(_CHECK_LOG)),),
        repeat=3,
        seed=1,
        keep=factors.keep,
        new_crash=factors.new_crash,
        check_disks=False,
        beside_others=factors.beside_others,
    )


class Recovery(CrashExperiment[Factors, PlannedCrash, PlannedRecovery]):
    """Crashes, and recoveries of copies of their images."""

    question = "How long does crash recovery take with a redo log of this size, on each storage, with each buffer pool?"

    check_cell = CheckCell(_check_cell, "ready_s", "s to ready with a log of 64M")

    @classmethod
    @override
    def blocks(cls, factors: Factors, lab: Lab) -> Blocks[PlannedCrash, PlannedRecovery]:
        from redolab.crash.bench.planning import crash_blocks

        crashes = _crashes(factors, lab) if factors.image is None else _kept_crashes(factors.image, factors, lab)
        return crash_blocks([(crash, _recoveries(factors, crash.spec)) for crash in crashes])

    @classmethod
    @override
    def conditions_from(cls, factors: Factors, lab: Lab) -> CrashConditions:
        workload = factors.workload if factors.image is None else _kept_image(factors.image, lab).spec.workload
        return replace(
            super().conditions_from(factors, lab),
            sample_every=factors.sample_every,
            new_crash=factors.new_crash,
            stuck_after=factors.stuck_after,
            warm_for=factors.warm_for(workload),
            looked_at=factors.follow,
        )


def _kept_image(name: str, lab: Lab) -> CrashImage:
    from redolab.crash.image_store import ImageStore

    return ImageStore(lab.home).get(name)


def _kept_crashes(name: str, factors: Factors, lab: Lab) -> Sequence[PlannedCrash]:
    """Return a kept crash image for each server that is to recover it. Raises `LabError`."""
    from redolab.crash.image_store import check_format

    image = _kept_image(name, lab)
    servers = factors.server if "server" in factors.given else (image.spec.dataset.server,)
    for server in servers:
        check_format(image, server, server_catalogue().get(server).dialect())
        lab.server(server)
    return [PlannedCrash(server=server, spec=image.spec, image=name) for server in servers]


def _crashes(factors: Factors, lab: Lab) -> Sequence[PlannedCrash]:
    """Return the crashes that are to be made, each with the largest log its server takes. Raises `LabError`."""
    from redolab.crash.bench.planning import planned_crashes
    from redolab.crash.wanted import WantedCrash

    wanted = [
        WantedCrash(
            log_size=log_size,
            dataset=asked_size(factors.workload, factors.warehouses, factors.dataset),
            workload=factors.workload,
            threads=factors.connections or factors.threads,
            think_time=factors.think_time,
            pool_dump=any(factors.pool_dump),
            kill=factors.rule(),
            crash=crash,
            open_transaction_rows=factors.open_transaction,
            trx_commit=factors.trx_commit,
            binary_log=factors.binary_log,
            number=number,
        )
        for log_size, crash, number in itertools.product(factors.log_size, factors.crash, range(1, factors.crashes + 1))
    ]
    # All logs beyond a server's largest are one crash.
    return list(dict.fromkeys(planned_crashes(lab, itertools.product(factors.server, wanted), factors.pool or ())))


def _recoveries(factors: Factors, spec: CrashSpec) -> Sequence[PlannedRecovery]:
    """Return the recoveries of a crash."""
    from redolab.crash.bench.planning import usual_pools

    return [
        PlannedRecovery(storage=storage, pool=pool, settings="+".join(filter(None, (settings, loaded))))
        for storage in factors.storage
        for pool in factors.pool or usual_pools(spec)
        for settings in factors.settings
        for loaded in (LOADS_POOL if dump else "" for dump in factors.pool_dump)
    ]
