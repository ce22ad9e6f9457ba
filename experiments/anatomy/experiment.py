"""The experiment anatomy: one baseline crash, and everything that could matter changed one at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from redolab.crash.bench.crash_experiment import CrashExperiment
from redolab.crash.bench.crash_plan import PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import CrashFactors, crash_factor
from redolab.crash.records.crash import KILL
from redolab.crash.records.kill_rule import KillRule
from redolab.disks.catalogue import storage_name
from redolab.errors import InvalidInput
from redolab.results.anatomy import BASELINE
from redolab.results.rows import recovery_rows
from redolab.runs.factors import factor, one_of, repeat_factor, several, whole_number
from redolab.runs.plan import Blocks
from redolab.runs.schema import Rows
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.servers.dialects import Dialect, Purpose, Setting
from redolab.servers.sizes import SMALLEST_POOL
from redolab.units import KIB, MIB, format_size, parse_size

if TYPE_CHECKING:
    from redolab.crash.wanted import WantedCrash
    from redolab.lab import Lab

SMALLEST_LOG = 128 * MIB
"""Smallest redo log in bytes: with a smaller one the time to start hides the effects."""
_DOUBLEWRITE_FILES, _DOUBLEWRITE_PAGES = 16, 512
_GROWS_FOR, _LOADED_FOR = 20.0, 60.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Case:
    """One crash and how it is recovered."""

    crash: WantedCrash
    pool: int
    """Buffer pool of the recovering server, bytes."""
    factor: str = BASELINE
    level: str = BASELINE
    settings: str = ""
    """Settings of the recovering server, as `redolab.servers.extra_settings` has them."""

    @property
    def log(self) -> int:
        """Bytes of the redo log."""
        return self.crash.log_size

    def but(self, factor: str, level: str, *, pool: int = 0, settings: str = "", **of_crash: Any) -> Case:
        """Return the level of a factor: this case with another pool, with settings, or with fields of the crash changed."""
        return Case(replace(self.crash, **of_crash), pool or self.pool, factor, level, settings)

    def with_settings(self, factor: str, level: str, *settings: Setting, **of_crash: Any) -> Case:
        """Return the level of a factor: settings of the server that crashes and of the one that recovers."""
        asked = "+".join(f"{each.name}={each.value}" for each in settings)
        return self.but(factor, level, settings=asked, overrides=settings, **of_crash)


def _of_any_server(base: Case) -> Iterator[tuple[str, Case]]:
    """Yield the levels of a crash that every server can have, each with what VARY calls its factor."""
    for size in (base.log // 2, base.log * 2):
        # The pool changes with the log: half and twice the redo fill the same share of it.
        yield "log-size", base.but("redo log", format_size(size), pool=size, log_size=size, dataset=base.log // 2)
    for percent in (25, 50):
        rule = KillRule(age_fraction=percent / 100)
        yield "age", base.but("age at the kill", f"{percent} % of the log", kill=rule)
    for size in (base.log // 8, base.log * 2):
        yield "locality", base.but("dirty pages for the same redo", f"dataset {format_size(size)}", dataset=size)
    for count in (2_000, 20_000):
        yield "tables", base.but("tables", f"{count:,} files", empty_tables=count)
    for count in (100_000, 1_000_000):
        yield "undo", base.but("rows to roll back", f"{count:,}", open_transaction_rows=count)
    for name, about in (("oltp_write_only", "short rows"), ("oltp_update_index", "secondary index")):
        yield "workload", base.but("workload", f"{about} ({name})", workload=name)
    level, rule = f"as in production, {_LOADED_FOR:.0f} s of load", KillRule(after=_LOADED_FOR)
    yield "flushing", base.but("flushing before the crash", level, purpose=Purpose.PRODUCTION, kill=rule)


def _of_some_servers(base: Case, dialect: Dialect) -> Iterator[tuple[str, Case]]:
    """Yield the levels of a crash that the server can have and others cannot."""
    for count in (500, 5_000) if dialect.prepared_stay else ():
        yield "prepared", base.but("prepared XA transactions", f"{count:,}", prepared_transactions=count)
    for buffered in ("none", "all") if dialect.buffers_changes else ():
        level = f"{buffered} (secondary index, small pool)"
        about = "whether changes of secondary indexes wait in the change buffer"
        setting = Setting("innodb_change_buffering", buffered, about)
        # A pool that holds the tables while the log fills would have nothing buffered.
        small_pool: dict[str, Any] = {"workload": "oltp_update_index", "fill_pool": max(SMALLEST_POOL, base.log // 8)}
        yield "change-buffer", base.with_settings("change buffer", level, setting, **small_pool)
    for size in (4 * KIB, 64 * KIB) if dialect.chooses_page_size else ():
        yield "page-size", base.but("page size", format_size(size), page_size=size)
    # Flushing as in production: else no page of the table would be in the doublewrite buffer.
    rule = KillRule(after=_GROWS_FOR)
    grows: dict[str, Any] = {"workload": "growing-table", "purpose": Purpose.PRODUCTION, "kill": rule}
    yield "growth", base.but("table that grows", "doublewrite buffer as shipped", **grows)
    if dialect.doublewrite_files:
        # Bug 116209: a server looks at all pages of the doublewrite files for each record of growth.
        level = f"doublewrite files of {_DOUBLEWRITE_FILES * _DOUBLEWRITE_PAGES:,} pages"
        files = Setting("innodb_doublewrite_files", str(_DOUBLEWRITE_FILES), "as many pages as can be")
        pages = Setting("innodb_doublewrite_pages", str(_DOUBLEWRITE_PAGES), "as many pages as can be")
        yield "growth", base.with_settings("table that grows", level, files, pages, **grows)


def _of_recoveries(base: Case, dialect: Dialect) -> Iterator[tuple[str, Case]]:
    """Yield the levels of the recovering server."""
    for pool in (base.pool // 4, base.pool * 4):
        yield "pool", base.but("buffer pool", format_size(pool), pool=pool)
    yield "doublewrite", base.but("doublewrite while recovering", "off", settings="innodb_doublewrite=0")
    ceiling = "+innodb_io_capacity_max=40000" if dialect.has_io_ceiling else ""
    threads = ("innodb_read_io_threads=1", "innodb_read_io_threads=64")
    for level in (*threads, f"innodb_io_capacity=20000{ceiling}"):
        yield "threads", base.but("threads and I/O settings", level, settings=level)


FACTORS = (
    *("log-size", "age", "locality", "pool", "tables", "undo", "prepared", "workload", "change-buffer", "page-size"),
    *("doublewrite", "growth", "flushing", "threads"),
)
"""Factors that VARY= can name."""


def cases(log_size: int, factors: Sequence[str], dialect: Dialect, crash: str = KILL) -> Sequence[Case]:
    """Return the baseline, and each level of these factors that the server can have, crashed in that way.

    The baseline: a full log under the workload that fills it quickly, nothing to roll back, a pool of the size of the log.
    """
    from redolab.crash.wanted import WantedCrash

    base = Case(WantedCrash(log_size=log_size, open_transaction_rows=0, crash=crash), pool=log_size)
    levels = [*_of_any_server(base), *_of_some_servers(base, dialect), *_of_recoveries(base, dialect)]
    return [base, *(case for wanted in factors for name, case in levels if name == wanted)]


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the experiment; sizes in bytes."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "mariadb-10.11,mysql-9")
    log_size: int = factor("Redo log of the baseline; the others follow from it.", parse_size, "512M")
    storage: str = factor("Storage profile, or a folder as in /mnt/fast.", storage_name, "local")
    vary: tuple[str, ...] = factor(
        "What to change, with commas; all for everything.",
        several(one_of("factor", lambda: ["all", *FACTORS])),
        "all",
    )
    crashes: int = factor(
        "Repeated crashes of the baseline and of every level: how much one differs from the next.",
        whole_number(2, 100),
        "3",
    )
    repeat: int = repeat_factor("How often each recovery is measured.", "3")
    crash: str = crash_factor()

    @override
    def check(self) -> None:
        size = format_size(self.log_size)
        if self.log_size < SMALLEST_LOG:
            raise InvalidInput(
                f"a redo log of {size} is too small here", f"give it {format_size(SMALLEST_LOG)} or more"
            )
        for name in self.server:
            most = server_catalogue().get(name).dialect().largest_log // MIB // 2
            if self.log_size > most * MIB:
                raise InvalidInput(f"{name} cannot have twice a redo log of {size}", f"give it {most}M or less")

    def varied(self) -> Sequence[str]:
        """Return the names of the factors that are changed."""
        return FACTORS if "all" in self.vary else self.vary


class AnatomyRecovery(PlannedRecovery, frozen=True, kw_only=True):
    """A recovery of a case, with the case's factor and level."""

    factor: str
    level: str


class Anatomy(CrashExperiment[Factors, PlannedCrash, AnatomyRecovery]):
    """Crashes that differ from one baseline in one thing each, recovered several times."""

    question = (
        "What decides how long a recovery takes: one baseline, and everything that could matter changed one at a time."
    )

    @classmethod
    @override
    def blocks(cls, factors: Factors, lab: Lab) -> Blocks[PlannedCrash, AnatomyRecovery]:
        from redolab.crash.bench.planning import crash_blocks

        return crash_blocks([each for name in factors.server for each in _crashes(name, factors, lab)])

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        """Return the recoveries of a run, each with the factor and level of its case. Raises `LabError`."""
        steps: Sequence[AnatomyRecovery] = [planned.step for planned in run.plan(cls.plan_type).steps]
        return [
            (record, {**columns, "factor": steps[record.position].factor, "level": steps[record.position].level})
            for record, columns in recovery_rows(run)
        ]


def _crashes(name: str, factors: Factors, lab: Lab) -> list[tuple[PlannedCrash, list[AnatomyRecovery]]]:
    """Return a server's crashes with their recoveries; cases that only differ in the recovering server share a crash."""
    from redolab.crash.bench.planning import planned_crashes

    wanted = cases(factors.log_size, factors.varied(), lab.server(name).dialect, factors.crash)
    pools = [case.pool for case in wanted]
    found: dict[PlannedCrash, list[AnatomyRecovery]] = defaultdict(list)
    for number in range(1, factors.crashes + 1):
        numbered = [(name, replace(case.crash, number=number)) for case in wanted]
        for crash, case in zip(planned_crashes(lab, numbered, pools), wanted, strict=True):
            found[crash].append(
                AnatomyRecovery(
                    storage=factors.storage,
                    pool=case.pool,
                    settings=case.settings,
                    factor=case.factor,
                    level=case.level,
                )
            )
    return list(found.items())
