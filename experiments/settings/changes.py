"""Settings, each with its baseline level and its changed levels, under the load in which it could matter.

Handbooks advise to look at ten of them first; the last two decide how far flushing lets the log fill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from redolab.servers.dialects import Dialect, Setting
from redolab.units import KIB, MIB, format_size

if TYPE_CHECKING:
    from redolab.crash.wanted import WantedCrash

BASELINE = "baseline"
TPCC, LARGE_ROWS, STORM = "tpcc", "large-rows", "storm"
_LOG_SIZE = "innodb_log_file_size"
_LOG_BUFFERS = (MIB, 16 * MIB, 64 * MIB)
"""Levels of the log buffer, besides the server's default."""
_CONNECTIONS = 500
_SPARE_CONNECTIONS = 50
_DIRTY = "90"
_SMALL_POOL_SHARE = 4
_LOG_STEP = 4
_QUERY_CACHE = 64 * MIB


@dataclass(frozen=True, slots=True)
class Change:
    """One setting changed alone, from the baseline of the same load."""

    setting: str
    baseline: str
    level: str
    load: WantedCrash


class Baselines(NamedTuple):
    """Baseline of each load."""

    tpcc: WantedCrash
    large_rows: WantedCrash
    storm: WantedCrash

    @property
    def room(self) -> int:
        """Connections that let all clients of the storm connect at once, with some to spare."""
        return max(_CONNECTIONS, self.storm.threads + _SPARE_CONNECTIONS)


_Levels: TypeAlias = "Sequence[tuple[str, str, WantedCrash]]"
"""Level in the baseline, level that it is changed to, and the load with it."""


def explicit(of: Baselines, dialect: Dialect) -> Baselines:
    """Return the baselines with explicit values for the settings whose defaults differ between versions."""
    no_cache = {"query_cache_size": "0", "query_cache_type": "0"} if dialect.caches_queries else {}
    return Baselines(
        tpcc=_with(of.tpcc, innodb_max_dirty_pages_pct=_DIRTY, **no_cache),
        large_rows=_with(of.large_rows, innodb_log_buffer_size=str(dialect.log_buffer)),
        storm=_with(of.storm, max_connections=str(of.room)),
    )


def _with(load: WantedCrash, **settings: str) -> WantedCrash:
    changed = tuple(Setting(name, value, "as asked") for name, value in settings.items())
    kept = tuple(each for each in load.overrides if each.name not in settings)
    return replace(load, overrides=(*kept, *changed))


def _small_pool(of: Baselines, _: Dialect) -> _Levels:
    small = max(of.tpcc.dataset_size(of.tpcc.log_size) // _SMALL_POOL_SHARE // MIB, 32) * MIB
    return [(format_size(of.tpcc.fill_pool or 0), format_size(small), replace(of.tpcc, fill_pool=small))]


def _log_sizes(of: Baselines, dialect: Dialect) -> _Levels:
    usual = of.tpcc.log_size
    return [
        (format_size(usual), format_size(size), replace(of.tpcc, log_size=size))
        for size in (usual // _LOG_STEP, usual * _LOG_STEP)
        if dialect.smallest_log <= size <= dialect.largest_log
    ]


def _few_connections(of: Baselines, _: Dialect) -> _Levels:
    few = str(of.storm.threads // 2)
    return [(str(of.room), f"{few}, half of the clients", _with(of.storm, max_connections=few))]


def _query_cache(of: Baselines, _: Dialect) -> _Levels:
    load = _with(of.tpcc, query_cache_size=str(_QUERY_CACHE), query_cache_type="1", query_cache_limit=str(256 * KIB))
    return [("0", f"{format_size(_QUERY_CACHE)}, type 1", load)]


SETTINGS: Mapping[str, Callable[[Baselines, Dialect], _Levels]] = {
    "innodb_buffer_pool_size": _small_pool,
    _LOG_SIZE: _log_sizes,
    "max_connections": _few_connections,
    "innodb_file_per_table": lambda of, _: [
        ("1", "0", _with(replace(of.tpcc, own_files=False), innodb_file_per_table="0"))
    ],
    "innodb_flush_log_at_trx_commit": lambda of, _: [
        ("1", str(value), replace(of.tpcc, trx_commit=value)) for value in (2, 0)
    ],
    "innodb_flush_method": lambda of, _: [("O_DIRECT", "fsync", _with(of.tpcc, innodb_flush_method="fsync"))],
    "innodb_log_buffer_size": lambda of, dialect: [
        (format_size(dialect.log_buffer), format_size(size), _with(of.large_rows, innodb_log_buffer_size=str(size)))
        for size in _LOG_BUFFERS
        if size != dialect.log_buffer
    ],
    "query_cache_size": _query_cache,
    "log_bin": lambda of, _: [("off", "on", replace(of.tpcc, binary_log=True))],
    # No value turns it off on every version, so leave it out.
    "skip_name_resolve": lambda of, _: [("on", "off", replace(of.storm, without=("skip_name_resolve",)))],
    "innodb_adaptive_flushing": lambda of, _: [("1", "0", _with(of.tpcc, innodb_adaptive_flushing="0"))],
    "innodb_max_dirty_pages_pct": lambda of, _: [(_DIRTY, "10", _with(of.tpcc, innodb_max_dirty_pages_pct="10"))],
}
"""Name → function that returns its levels."""


def changes(names: Sequence[str], baselines: Baselines, dialect: Dialect) -> list[Change]:
    """Return each of these settings at each of its other levels that the server supports."""
    left_out, of = skipped(names, dialect), explicit(baselines, dialect)
    return [
        Change(_name_in(dialect, of) if name == _LOG_SIZE else name, *levels)
        for name in names
        if name not in left_out
        for levels in SETTINGS[name](of, dialect)
    ]


def _name_in(dialect: Dialect, of: Baselines) -> str:
    """Return the server's name for the size of its redo log."""
    lines = dialect.log_settings(of.tpcc.log_size)
    # Some servers set the size of one file of two.
    return lines[0].name if len(lines) == 1 else f"{lines[0].name}, all files"


def skipped(names: Sequence[str], dialect: Dialect) -> Mapping[str, str]:
    """Return setting → reason, of these that the server does not have."""
    reasons = {} if dialect.caches_queries else {"query_cache_size": "MySQL has no query cache since 8.0.3"}
    return {name: reason for name, reason in reasons.items() if name in names}
