"""The baseline, and every level of every factor, as changes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from redolab.crashes.wanted import WantedCrash
from redolab.models.sizes import SMALLEST_POOL
from redolab.records.crash import KILL
from redolab.records.kill_rule import KillRule
from redolab.servers.dialects import Dialect, Purpose, Setting
from redolab.units import KIB, format_size

BASELINE, CHANGE_BUFFER = "baseline", "change buffer"
_DOUBLEWRITE_FILES, _DOUBLEWRITE_PAGES = 16, 512
_GROWS_FOR = 20.0
"""Seconds of load on the table that grows."""


@dataclass(frozen=True, slots=True)
class Case:
    """One crash and the server that recovers it; sizes in bytes."""

    factor: str
    level: str
    crash: WantedCrash
    pool: int
    settings: str = ""
    """Settings of the recovering server, in the form of `redolab.servers.extra_settings`."""


def baseline(log_size: int, crash: str = KILL) -> Case:
    """Return the baseline: a log filled quickly by its workload, nothing to roll back, a pool as large as the log."""
    wanted = WantedCrash(log_size=log_size, open_transaction_rows=0, crash=crash)
    return Case(BASELINE, BASELINE, wanted, pool=log_size)


def cases(log_size: int, factors: Sequence[str], dialect: Dialect, crash: str = KILL) -> list[Case]:
    """Return the baseline, and each level of these factors that the server supports, with this kind of crash."""
    start = baseline(log_size, crash)
    return [start, *(case for name in factors for case in FACTORS[name](start, dialect))]


def _crash(start: Case, factor: str, level: str, **changes: object) -> Case:
    return replace(start, factor=factor, level=level, crash=replace(start.crash, **changes))  # type: ignore[arg-type]


def _sizes_of_log(start: Case, _: Dialect) -> list[Case]:
    """Return half and twice the log, with a pool of its size, so that redo is the same share of the pool."""
    return [
        replace(
            _crash(start, "redo log", format_size(size), log_size=size, dataset=(start.crash.log_size // 2)),
            pool=size,
        )
        for size in (start.crash.log_size // 2, start.crash.log_size * 2)
    ]


def _ages(start: Case, _: Dialect) -> list[Case]:
    return [
        _crash(start, "age at the kill", f"{share} % of the log", kill=KillRule.from_options(f"{share}%", None))
        for share in (25, 50)
    ]


def _localities(start: Case, _: Dialect) -> list[Case]:
    usual = start.crash.log_size // 2
    return [
        _crash(start, "dirty pages for the same redo", f"dataset {format_size(size)}", dataset=size)
        for size in (usual // 4, usual * 4)
    ]


def _pools(start: Case, _: Dialect) -> list[Case]:
    return [
        replace(start, factor="buffer pool", level=format_size(pool), pool=pool)
        for pool in (start.pool // 4, start.pool * 4)
    ]


def _tables(start: Case, _: Dialect) -> list[Case]:
    return [_crash(start, "tables", f"{count:,} files", empty_tables=count) for count in (2_000, 20_000)]


def _rows_to_roll_back(start: Case, _: Dialect) -> list[Case]:
    return [
        _crash(start, "rows to roll back", f"{rows:,}", open_transaction_rows=rows) for rows in (100_000, 1_000_000)
    ]


def _prepared(start: Case, dialect: Dialect) -> list[Case]:
    if not dialect.prepared_stay:
        return []
    return [
        _crash(start, "prepared XA transactions", f"{count:,}", prepared_transactions=count) for count in (500, 5_000)
    ]


def _workloads(start: Case, _: Dialect) -> list[Case]:
    return [
        _crash(start, "workload", "short rows (oltp_write_only)", workload="oltp_write_only"),
        _crash(start, "workload", "secondary index (oltp_update_index)", workload="oltp_update_index"),
    ]


def _change_buffer(start: Case, dialect: Dialect) -> list[Case]:
    """Return cases with a pool smaller than the tables under load: in a larger one nothing would be buffered."""
    if not dialect.buffers_changes:
        return []
    small = max(SMALLEST_POOL, start.crash.log_size // 8)
    found = []
    for level in ("none", "all"):
        setting = Setting(
            "innodb_change_buffering", level, "whether changes of secondary indexes wait in the change buffer"
        )
        case = _crash(
            start, CHANGE_BUFFER, f"{level} (secondary index, small pool)", workload="oltp_update_index", fill_pool=small,
            overrides=(setting,),
        )  # fmt: skip
        found.append(replace(case, settings=f"innodb_change_buffering={level}"))
    return found


def _page_sizes(start: Case, dialect: Dialect) -> list[Case]:
    if not dialect.chooses_page_size:
        return []
    return [_crash(start, "page size", format_size(size), page_size=size) for size in (4 * KIB, 64 * KIB)]


def _doublewrite(start: Case, _: Dialect) -> list[Case]:
    return [replace(start, factor="doublewrite while recovering", level="off", settings="innodb_doublewrite=0")]


def _growth(start: Case, dialect: Dialect) -> list[Case]:
    """Return cases with the default doublewrite buffer and the largest one.

    By bug 116209, recovery searches its pages for each record of growth. Flushing is as in production: otherwise no
    page of the table would be in the buffer.
    """
    grows = _crash(
        start, "table that grows", "doublewrite buffer as shipped", workload="growing-table",
        purpose=Purpose.PRODUCTION, kill=KillRule.from_options(None, _GROWS_FOR),
    )  # fmt: skip
    if not dialect.doublewrite_files:
        return [grows]
    settings = (
        Setting("innodb_doublewrite_files", str(_DOUBLEWRITE_FILES), "as many pages as can be"),
        Setting("innodb_doublewrite_pages", str(_DOUBLEWRITE_PAGES), "as many pages as can be"),
    )
    level = f"doublewrite files of {_DOUBLEWRITE_FILES * _DOUBLEWRITE_PAGES:,} pages"
    large = replace(grows, level=level, crash=replace(grows.crash, overrides=settings))
    return [grows, replace(large, settings="+".join(f"{each.name}={each.value}" for each in settings))]


def _flushing(start: Case, _: Dialect) -> list[Case]:
    return [
        _crash(
            start, "flushing before the crash", "as in production, 60 s of load", purpose=Purpose.PRODUCTION,
            kill=KillRule.from_options(None, 60.0),
        )
    ]  # fmt: skip


def _threads(start: Case, dialect: Dialect) -> list[Case]:
    levels = [
        "innodb_read_io_threads=1",
        "innodb_read_io_threads=64",
        "innodb_io_capacity=20000+innodb_io_capacity_max=40000",
    ]
    if not dialect.has_io_ceiling:
        levels[-1] = "innodb_io_capacity=20000"
    return [replace(start, factor="threads and I/O settings", level=level, settings=level) for level in levels]


FACTORS: Mapping[str, Callable[[Case, Dialect], list[Case]]] = {
    "log-size": _sizes_of_log,
    "age": _ages,
    "locality": _localities,
    "pool": _pools,
    "tables": _tables,
    "undo": _rows_to_roll_back,
    "prepared": _prepared,
    "workload": _workloads,
    "change-buffer": _change_buffer,
    "page-size": _page_sizes,
    "doublewrite": _doublewrite,
    "growth": _growth,
    "flushing": _flushing,
    "threads": _threads,
}
"""Value of VARY= → function that returns its levels."""
