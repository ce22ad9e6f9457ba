"""Comparison key of recoveries, loads and crashes: results with different keys are never pooled."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
import xxhash

from redolab.crash.records.crash import CrashSpec
from redolab.crash.records.dataset import DatasetSpec
from redolab.crash.records.kill_rule import KillRule
from redolab.crash.records.recovery import RecoveryTrial
from redolab.disks.profiles import StorageProfile, storage_figures
from redolab.machine.machine_class import MachineClass
from redolab.servers.dialects import InstanceRequest, Setting

T = TypeVar("T")

_MEASURED = "what was measured"
LEFT_OUT: Mapping[type, Mapping[str, str]] = MappingProxyType(
    {
        CrashSpec: {
            "number": "which of several crashes made alike: what two of them differ in is their spread",
            "crash": "the key has it by itself: it stays compared where the rest of the spec is not",
        },
        DatasetSpec: {},
        InstanceRequest: {},
        KillRule: {},
        Setting: {"reason": "prose, which changes no figure"},
        RecoveryTrial: {
            "image": "its spec is in the key",
            "log_size": "the spec has it",
            "repeat": "which of several recoveries made alike",
            "started": "when: what days differ in is their spread",
            "looked_at": "looks take 0.3 % of a core at most (benchmarks/), and no model learns from such a recovery",
            "instance": "what the server said of its settings: the key has those that were asked for",
            **dict.fromkeys(
                (
                    "copy", "cache_dropped", "outcome", "seconds_to_ready", "first_connection", "first_write", "rollback_ended",
                    "timeline", "unfinished", "longest_quiet", "device", "cpu", "pages_read", "buffered", "late_share",
                    "lab_cpu_seconds", "disturbance", "peak_memory",
                ),
                _MEASURED,
            ),
        },
    }
)  # fmt: skip
"""Type → its fields outside the comparison key, each with the reason."""
_COMPARED_BY_FIELD = (InstanceRequest, DatasetSpec, KillRule)
"""Types whose fields are compared one by one; other values of a spec are compared as a whole."""
_HASH = "spec.made_with"
_IN_THE_HASH = ("spec.instance", "spec.workload", "spec.storage", "spec.dataset.server", "spec.dataset.version")
"""Parts of a spec that its hash depends on too: the hash is ignored with any of them."""


class Field(StrEnum):
    """Field of a comparison key, or a group of fields, by its path."""

    MACHINE = "machine"
    SERVER = "server"
    VERSION = "version"
    CRASH = "crash"
    STORAGE = "storage"
    BUFFER_POOL = "buffer_pool"
    SETTINGS = "settings"
    SPEC = "spec"
    """All of the crash's spec but the kind of crash."""
    DATASET = "spec.dataset"
    EMPTY_TABLES = "spec.dataset.empty_tables"
    INSTANCE = "spec.instance"
    """All settings of the instance under load."""
    LOG_SIZE = "spec.instance.log_size"
    OVERRIDES = "spec.instance.overrides"
    """Settings that are not the lab's own."""
    WITHOUT = "spec.instance.without"
    """Settings of the lab's own that were left out."""
    PURPOSE = "spec.instance.purpose"
    KILL = "spec.kill"
    LOAD_STORAGE = "spec.storage"
    THINK_TIME = "spec.think_time"
    POOL_DUMP = "spec.pool_dump"


@dataclass(frozen=True, slots=True)
class Override:
    """Field of one setting of the instance under load that is not the lab's own."""

    setting: str

    def __str__(self) -> str:
        return f"{Field.OVERRIDES}.{self.setting}"


class StorageKey(msgspec.Struct, frozen=True, kw_only=True):
    """A storage profile: its name, and a hash of its figures. fio's measurements mark results, and are not in it."""

    name: str
    figures: str = ""
    """Hash of the profile; empty if it is no longer known."""


@dataclass(frozen=True, slots=True)
class ComparisonKey:
    """Values that are equal in results that may be pooled, by the path of their field."""

    values: tuple[tuple[str, Hashable], ...]
    wider_by: frozenset[str] = frozenset()
    """Ignored fields."""

    @property
    def machine(self) -> MachineClass:
        """Class of the machine."""
        found: MachineClass = self._value(Field.MACHINE)
        return found

    @property
    def server(self) -> str:
        """Server, by its name in the catalogue."""
        found: str = self._value(Field.SERVER)
        return found

    @property
    def storage(self) -> StorageKey:
        """Storage of the recovery, or of the load."""
        found: StorageKey = self._value(Field.STORAGE)
        return found

    def ignoring(self, *fields: Field | Override) -> ComparisonKey:
        """Return the key without these fields and their parts; it equals only keys that ignore the same fields."""
        out = self.wider_by | {str(field) for field in fields}
        if any(_is_in(field, each) or _is_in(each, field) for field in out for each in _IN_THE_HASH):
            out |= {_HASH}
        return ComparisonKey(
            tuple(each for each in self.values if not any(_is_in(each[0], field) for field in out)), out
        )

    def _value(self, field: Field) -> Any:
        """Return the value of a field. Raises `KeyError` if it is ignored."""
        return dict(self.values)[field]


def comparison_key(
    *,
    machine: MachineClass,
    server: str,
    version: str,
    spec: CrashSpec,
    storage: StorageKey,
    buffer_pool: int,
    settings: str = "",
) -> ComparisonKey:
    """Return the key of a recovery; for a load and the crash at its end, with the server and storage of the load."""
    values = {
        "machine": machine,
        "server": server,
        "version": version,
        "crash": spec.crash,
        "storage": storage,
        "buffer_pool": buffer_pool,
        "settings": settings,
        **dict(_values_by_path("spec", spec)),
    }
    return ComparisonKey(tuple(sorted(values.items())))


def storage_key(name: str, profile: StorageProfile | None) -> StorageKey:
    """Return the key of a storage. `profile` is None if it is no longer known."""
    if profile is None:
        return StorageKey(name=name)
    figures = msgspec.json.encode(storage_figures(profile), order="sorted")
    return StorageKey(name=name, figures=xxhash.xxh3_64_hexdigest(figures))


def grouped(keyed: Iterable[tuple[ComparisonKey, T]], *ignored: Field | Override) -> dict[ComparisonKey, list[T]]:
    """Return key, without some fields → its results, in the given order."""
    found: dict[ComparisonKey, list[T]] = {}
    for key, each in keyed:
        found.setdefault(key.ignoring(*ignored), []).append(each)
    return found


def _values_by_path(name: str, value: Any) -> Iterable[tuple[str, Hashable]]:
    for field in _fields(type(value)):
        if field in LEFT_OUT[type(value)]:
            continue
        inner, path = getattr(value, field), f"{name}.{field}"
        if path == Field.OVERRIDES:
            yield from ((f"{path}.{setting.name}", setting.value) for setting in inner)
        elif isinstance(inner, _COMPARED_BY_FIELD):
            yield from _values_by_path(path, inner)
        else:
            yield path, inner


def _fields(kind: type[Any]) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    names: tuple[str, ...] = kind.__struct_fields__
    return names


def _is_in(field: str, within: str) -> bool:
    """Return True if the field is `within`, or a part of it."""
    return field == within or field.startswith(f"{within}.")
