"""Factors of the recovery experiment."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from redolab.bench.checks import check_load, check_pool, check_warm_up
from redolab.bench.factors import CrashFactors
from redolab.crashes.kinds import KINDS
from redolab.errors import InvalidInput
from redolab.records.kill_rule import KillRule, Uniform
from redolab.records.recovery import STUCK_AFTER
from redolab.runs.factors import (
    factor,
    factors_of,
    on_or_off,
    one_of,
    several,
    whole_number,
    words,
)
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.servers.extra_settings import NONE, asked_settings
from redolab.storage.catalogue import storage_name
from redolab.units import MIB, format_size, parse_duration, parse_size
from redolab.workloads.catalogue import workload_catalogue

_FOLLOWED = 60.0
"""Seconds to follow clients of TPC-C, by default."""
_OF_RECOVERIES = {
    *("image", "storage", "pool", "settings", "warmup", "stuck_after", "follow", "check_disks", "repeat"),
    *("seed", "plan", "resume", "beside_others", "machine", "provider"),
}
"""Names of the factors that remain for a kept crash image, which decides all others."""


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the recovery experiment; sizes in bytes, times in seconds."""

    log_size: tuple[int, ...] = factor("Redo log sizes, with commas.", several(parse_size), "1G")
    server: tuple[str, ...] = factor(
        "Servers, with commas; all for every one (with its largest log where the size is beyond it).",
        server_names,
        "mariadb-10.11",
    )
    storage: tuple[str, ...] = factor(
        "Storage profiles to recover on ('redolab storage list'), or folders as in /mnt/fast, with commas.",
        several(storage_name),
        "native",
    )
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
    workload: str = factor(
        "What fills the log.", one_of("workload", lambda: workload_catalogue().names()), "bulk-update"
    )
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
        "Rows changed by a transaction that is open at the kill; 0 for none.",
        whole_number(0, 100_000_000),
        "100000",
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
        several(one_of("kind of crash", lambda: list(KINDS))),
        "kill",
    )
    moment: Uniform | None = factor(
        "Crash at a moment drawn between two, after the load began, as in 5m-30m; with freeze, CRASHES are all of one load.",
        Uniform.parse,
    )
    crashes: int = factor("Repeated crashes, each recovered as often.", whole_number(1, 100), "1")
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
    check_disks: bool = factor("Have fio look at every storage before, once.", on_or_off, "on")

    def check(self) -> None:
        """Refuse factors that make no sense, before anything is started. Raises `InvalidInput`."""
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
            self._check_crash()

    def _check_crash(self) -> None:
        """Refuse a crash that a server or the workload does not support. Raises `InvalidInput`."""
        for name, size in itertools.product(self.server, self.log_size):
            dialect = server_catalogue().get(name).dialect()
            if size < dialect.smallest_log:
                raise InvalidInput(
                    f"a redo log of {format_size(size)} is too small for {name}",
                    f"it takes {format_size(dialect.smallest_log)} and more",
                )
            if size > dialect.largest_log and len(self.server) == 1:
                raise InvalidInput(
                    f"a redo log of {format_size(size)} is too large for {name}",
                    f"it takes {dialect.largest_log // MIB}M at most",
                )
        self.rule()
        check_load(self.workload, warehouses=self.warehouses, dataset=self.dataset, think_time=self.think_time)
        for name in self.server:
            if any(self.pool_dump) and not server_catalogue().get(name).dialect().dumps_pool:
                raise InvalidInput(f"{name} cannot dump its buffer pool", "leave it out, or POOLDUMP=off")

    def rule(self) -> KillRule:
        """Return the rule for the crash time. Raises `InvalidInput`."""
        if self.moment is None:
            return KillRule.from_options(self.kill_at, self.kill_after)
        if self.kill_at is not None or self.kill_after is not None:
            raise InvalidInput("a drawn moment leaves nothing for KILLAT and KILLAFTER to decide", "give one of them")
        return KillRule(moment=self.moment)

    def warm_for(self, workload: str) -> float:
        """Return the most seconds for which the workload's clients are followed; 0: they are not started anew."""
        if self.warmup is not None:
            return self.warmup
        return _FOLLOWED if workload_catalogue().get(workload).bytes_per_warehouse else 0.0

    def in_words(self) -> dict[str, str]:
        """Return the factors as text; the lab's own settings have their name, so that the text can be read again."""
        asked = {**super().in_words(), "settings": words(tuple(each or NONE for each in self.settings))}
        return {name: text for name, text in asked.items() if name not in self._decided()}

    def _decided(self) -> set[str]:
        """Return the names of the factors that a kept crash image decides."""
        if self.image is None:
            return set()
        return {each.name for each in factors_of(Factors)} - _OF_RECOVERIES - (self.given & {"server"})
