"""Published rules for the redo log size, from data/published/size-rules.toml."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from redolab.project import PROJECT
from redolab.servers.dialects import Version
from redolab.units import GIB, parse_size

_FILE = "size-rules.toml"


class SizeRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published rule."""

    name: str
    by: str
    """Quantity that the size follows from: a key of `_SIZES`."""
    servers: tuple[str, ...]
    """Families that the rule is for."""
    source: str
    version: str
    note: str
    since: str | None = None
    """First version of the server that the rule is for."""
    until: str | None = None
    """First later version that the rule is no longer for."""
    share: float = 1.0
    gb_per_cpu: float = 1.0
    least: str = "0"
    most: str = "512G"

    def is_for(self, family: str, version: Version) -> bool:
        """Return True if the rule is for servers of that family and version."""
        return (
            family in self.servers
            and (self.since is None or version >= Version.parse(self.since))
            and (self.until is None or version < Version.parse(self.until))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Inputs of the rules, in bytes and bytes an hour; None if unknown."""

    pool: int
    holds_an_hour: int | None = None
    """Smallest log in which statements do not wait before an hour of peak redo, by LSN."""
    os_log_written: float | None = None
    """Mean since the server's start."""
    os_log_written_hours: float | None = None
    """Quantile that 94 % of the hours of seven days stay below."""
    cpus: int | None = None
    memory: int | None = None


def published_rules() -> Sequence[SizeRule]:
    """Return the rules of the file."""

    class _File(msgspec.Struct, forbid_unknown_fields=True):
        rule: tuple[SizeRule, ...]

    return msgspec.toml.decode((PROJECT.published / _FILE).read_bytes(), type=_File).rule


def size_by(rule: SizeRule, facts: ServerFacts) -> int | None:
    """Return the bytes that a rule asks for; None if its input is not known."""
    size = _SIZES[rule.by](rule, facts)
    return None if size is None else round(min(max(size, parse_size(rule.least)), parse_size(rule.most)))


def _of_peak(_: SizeRule, facts: ServerFacts) -> float | None:
    return facts.holds_an_hour


def _of_pool(rule: SizeRule, facts: ServerFacts) -> float | None:
    return rule.share * facts.pool


def _of_cpus(rule: SizeRule, facts: ServerFacts) -> float | None:
    return None if facts.cpus is None else rule.gb_per_cpu * facts.cpus * GIB


def _of_memory(_: SizeRule, facts: ServerFacts) -> float | None:
    """Return the log files of worklog 12300, by the pool that the server sets for itself."""
    if facts.memory is None:
        return None
    memory = facts.memory / GIB
    pool = memory * 0.75 if memory > 4 else memory * 0.5 if memory >= 1 else 0.125
    if pool < 8:
        return max(2, round(pool)) * GIB / 2
    return (round(0.75 * pool) if pool <= 128 else 128) * GIB


def _of_mean(_: SizeRule, facts: ServerFacts) -> float | None:
    """Return an hour at the mean rate of os_log_written, rounded up to a power of two of GB."""
    if not facts.os_log_written:
        return None
    return float(2 ** math.ceil(math.log2(max(1.0, facts.os_log_written / GIB))) * GIB)


def _of_hours(_: SizeRule, facts: ServerFacts) -> float | None:
    return facts.os_log_written_hours


_SIZES: Mapping[str, Callable[[SizeRule, ServerFacts], float | None]] = {
    "peak redo": _of_peak,
    "pool": _of_pool,
    "CPUs": _of_cpus,
    "memory": _of_memory,
    "mean of os_log_written": _of_mean,
    "hours of os_log_written": _of_hours,
}
