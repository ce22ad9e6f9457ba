"""Published rules for the redo log size, from data/published/size-rules.toml."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from redolab.project import PROJECT
from redolab.servers.dialects import Version
from redolab.units import GIB, parse_size


class RuleInput(StrEnum):
    """Quantity that the size of a rule follows from."""

    PEAK = "peak redo"
    POOL = "pool"
    CPUS = "CPUs"
    MEMORY = "memory"
    MEAN = "mean of os_log_written"
    HOURS = "hours of os_log_written"


class SizeRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published rule."""

    name: str
    by: RuleInput
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
    content = (PROJECT.published / "size-rules.toml").read_bytes()
    return msgspec.toml.decode(content, type=dict[str, tuple[SizeRule, ...]])["rule"]


def size_by(rule: SizeRule, facts: ServerFacts) -> int | None:
    """Return the bytes that a rule asks for; None if its input is not known."""
    size = _size(rule, facts)
    return None if size is None else round(min(max(size, parse_size(rule.least)), parse_size(rule.most)))


def _size(rule: SizeRule, facts: ServerFacts) -> float | None:
    """Return the bytes that a rule asks for, without its limits."""
    match rule.by:
        case RuleInput.PEAK:
            return facts.holds_an_hour
        case RuleInput.POOL:
            return rule.share * facts.pool
        case RuleInput.CPUS:
            return None if facts.cpus is None else rule.gb_per_cpu * facts.cpus * GIB
        case RuleInput.MEMORY:
            return None if facts.memory is None else _by_memory(facts.memory / GIB) * GIB
        case RuleInput.MEAN:
            return _power_of_two(facts.os_log_written / GIB) * GIB if facts.os_log_written else None
        case RuleInput.HOURS:
            return facts.os_log_written_hours


def _by_memory(memory: float) -> float:
    """Return the GiB of log files by worklog 12300, which follow from the pool that the server sets for itself."""
    pool = memory * 0.75 if memory > 4 else memory * 0.5 if memory >= 1 else 0.125
    if pool < 8:
        return max(2, round(pool)) / 2
    return round(0.75 * pool) if pool <= 128 else 128


def _power_of_two(hour: float) -> float:
    """Return an hour of redo in GiB, rounded up to a power of two, at least 1."""
    return float(2 ** math.ceil(math.log2(max(1.0, hour))))
