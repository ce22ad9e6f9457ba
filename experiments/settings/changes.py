"""Settings, each with its baseline level and its changed levels, under the load in which it could matter.

Handbooks advise to look at ten of them first; the last two decide how far flushing lets the log fill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from redolab.crashes.wanted import WantedCrash
from redolab.servers.dialects import Dialect, Setting
from redolab.units import KIB, MIB, format_size

BASELINE = "baseline"
TPCC, LARGE_ROWS, STORM = "tpcc", "large-rows", "storm"
_LOG_BUFFERS = (MIB, 16 * MIB, 64 * MIB)
"""Levels of the log buffer, besides the server's default."""
_CONNECTIONS = 500
_SPARE_CONNECTIONS = 50
_DIRTY = 90
_SMALL_POOL_SHARE = 4
_LOG_STEP = 4
_QUERY_CACHE = 64 * MIB
_REASON = "as asked"


@dataclass(frozen=True, slots=True)
class Change:
    """One setting changed alone, from the baseline of the same load."""

    setting: str
    baseline: str
    level: str
    load: WantedCrash


@dataclass(frozen=True, slots=True)
class Skipped:
    """A setting that a server does not have."""

    setting: str
    why: str


@dataclass(frozen=True, slots=True)
class Baselines:
    """Baseline of each load."""

    tpcc: WantedCrash
    large_rows: WantedCrash
    storm: WantedCrash

    def all(self) -> Sequence[WantedCrash]:
        """Return all of them."""
        return (self.tpcc, self.large_rows, self.storm)


def explicit(baselines: Baselines, dialect: Dialect) -> Baselines:
    """Return the baselines with explicit values for the settings whose defaults differ between versions."""
    no_cache = {"query_cache_size": "0", "query_cache_type": "0"} if dialect.caches_queries else {}
    return Baselines(
        tpcc=_with(baselines.tpcc, innodb_max_dirty_pages_pct=str(_DIRTY), **no_cache),
        large_rows=_with(baselines.large_rows, innodb_log_buffer_size=str(dialect.log_buffer)),
        storm=_with(baselines.storm, max_connections=str(_room(baselines))),
    )


def _with(load: WantedCrash, **settings: str) -> WantedCrash:
    changed = tuple(Setting(name, value, _REASON) for name, value in settings.items())
    kept = tuple(each for each in load.overrides if each.name not in settings)
    return replace(load, overrides=(*kept, *changed))


def _buffer_pool(of: Baselines, _: Dialect) -> list[Change]:
    usual = of.tpcc.fill_pool or 0
    small = max(of.tpcc.dataset_size(of.tpcc.log_size) // _SMALL_POOL_SHARE // MIB, 32) * MIB
    return [_change("innodb_buffer_pool_size", format_size(usual), format_size(small), of.tpcc, fill_pool=small)]


def _log_size(of: Baselines, dialect: Dialect) -> list[Change]:
    usual = of.tpcc.log_size
    lines = dialect.log_settings(usual)
    # Some servers set the size of one file of two.
    name = lines[0].name if len(lines) == 1 else f"{lines[0].name}, all files"
    sizes = [
        size for size in (usual // _LOG_STEP, usual * _LOG_STEP) if dialect.smallest_log <= size <= dialect.largest_log
    ]
    return [_change(name, format_size(usual), format_size(size), of.tpcc, log_size=size) for size in sizes]


def _room(of: Baselines) -> int:
    """Return the connections that let all clients of the storm connect at once, with some to spare."""
    return max(_CONNECTIONS, of.storm.threads + _SPARE_CONNECTIONS)


def _max_connections(of: Baselines, _: Dialect) -> list[Change]:
    few = of.storm.threads // 2
    return [
        Change(
            "max_connections",
            str(_room(of)),
            f"{few}, half of the clients",
            _with(of.storm, max_connections=str(few)),
        )
    ]


def _file_per_table(of: Baselines, _: Dialect) -> list[Change]:
    load = _with(replace(of.tpcc, own_files=False), innodb_file_per_table="0")
    return [Change("innodb_file_per_table", "1", "0", load)]


def _flush_log(of: Baselines, _: Dialect) -> list[Change]:
    name = "innodb_flush_log_at_trx_commit"
    return [_change(name, "1", str(value), of.tpcc, trx_commit=value) for value in (2, 0)]


def _flush_method(of: Baselines, _: Dialect) -> list[Change]:
    return [Change("innodb_flush_method", "O_DIRECT", "fsync", _with(of.tpcc, innodb_flush_method="fsync"))]


def _log_buffer(of: Baselines, dialect: Dialect) -> list[Change]:
    name, usual = "innodb_log_buffer_size", dialect.log_buffer
    return [
        Change(name, format_size(usual), format_size(size), _with(of.large_rows, innodb_log_buffer_size=str(size)))
        for size in _LOG_BUFFERS
        if size != usual
    ]


def _query_cache(of: Baselines, _: Dialect) -> list[Change]:
    load = _with(of.tpcc, query_cache_size=str(_QUERY_CACHE), query_cache_type="1", query_cache_limit=str(256 * KIB))
    return [Change("query_cache_size", "0", f"{format_size(_QUERY_CACHE)}, type 1", load)]


def _binary_log(of: Baselines, _: Dialect) -> list[Change]:
    return [_change("log_bin", "off", "on", of.tpcc, binary_log=True)]


def _name_resolve(of: Baselines, _: Dialect) -> list[Change]:
    # No value turns it off on every version, so leave it out.
    load = replace(of.storm, without=("skip_name_resolve",))
    return [Change("skip_name_resolve", "on", "off", load)]


def _adaptive_flushing(of: Baselines, _: Dialect) -> list[Change]:
    return [Change("innodb_adaptive_flushing", "1", "0", _with(of.tpcc, innodb_adaptive_flushing="0"))]


def _max_dirty(of: Baselines, _: Dialect) -> list[Change]:
    name = "innodb_max_dirty_pages_pct"
    return [Change(name, str(_DIRTY), "10", _with(of.tpcc, innodb_max_dirty_pages_pct="10"))]


def _change(setting: str, baseline: str, level: str, load: WantedCrash, **changes: object) -> Change:
    return Change(setting, baseline, level, replace(load, **changes))  # type: ignore[arg-type]


SETTINGS: Mapping[str, Callable[[Baselines, Dialect], list[Change]]] = {
    "innodb_buffer_pool_size": _buffer_pool,
    "innodb_log_file_size": _log_size,
    "max_connections": _max_connections,
    "innodb_file_per_table": _file_per_table,
    "innodb_flush_log_at_trx_commit": _flush_log,
    "innodb_flush_method": _flush_method,
    "innodb_log_buffer_size": _log_buffer,
    "query_cache_size": _query_cache,
    "log_bin": _binary_log,
    "skip_name_resolve": _name_resolve,
    "innodb_adaptive_flushing": _adaptive_flushing,
    "innodb_max_dirty_pages_pct": _max_dirty,
}
"""Name → function that returns its changes."""


def changes(names: Sequence[str], baselines: Baselines, dialect: Dialect) -> list[Change]:
    """Return each of these settings at each of its other levels that the server supports."""
    left_out = {each.setting for each in skipped(names, dialect)}
    of = explicit(baselines, dialect)
    return [change for name in names if name not in left_out for change in SETTINGS[name](of, dialect)]


def skipped(names: Sequence[str], dialect: Dialect) -> list[Skipped]:
    """Return the settings that the server does not have, and why."""
    if "query_cache_size" in names and not dialect.caches_queries:
        return [Skipped("query_cache_size", "MySQL has no query cache since 8.0.3")]
    return []
