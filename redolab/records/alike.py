"""Comparison key of recoveries, loads and crashes: results with different keys are never pooled."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
import xxhash

from redolab.errors import LabError
from redolab.machine.machine_class import MachineClass
from redolab.records.crash import CrashSpec
from redolab.records.dataset import DatasetSpec
from redolab.records.kill_rule import KillRule
from redolab.records.recovery import RecoveryTrial
from redolab.servers.dialects import InstanceRequest, Setting
from redolab.storage.profiles import StorageProfile, storage_figures

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
_APART = (InstanceRequest, DatasetSpec, KillRule)
"""Types whose fields are compared one by one; other values of a spec are compared as a whole."""
_OVERRIDES = "spec.instance.overrides"
_HASH = "spec.made_with"
_IN_THE_HASH = ("spec.instance", "spec.workload", "spec.storage", "spec.dataset.server", "spec.dataset.version")
"""Parts of a spec that its hash depends on too: the hash is ignored with any of them."""
_NOT_SET = "not set"


class StorageKey(msgspec.Struct, frozen=True, kw_only=True):
    """A storage profile: its name, and a hash of its figures. fio's measurements mark results, and are not in it."""

    name: str
    figures: str = ""
    """Hash of the profile; empty if it is no longer known."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Comparison key: values that are equal in results that may be pooled, by field (`spec.instance.log_size`)."""

    values: tuple[tuple[str, Hashable], ...]
    wider_by: frozenset[str] = frozenset()
    """Ignored fields."""

    def __getitem__(self, field: str) -> Any:
        """Return the value of a field. Raises `KeyError` if it is ignored."""
        return dict(self.values)[field]

    @property
    def machine(self) -> MachineClass:
        """Class of the machine."""
        found: MachineClass = self["machine"]
        return found

    @property
    def storage(self) -> StorageKey:
        """Storage of the recovery, or of the load."""
        found: StorageKey = self["storage"]
        return found

    def but(self, *fields: str) -> Alike:
        """Return the key without these fields and their parts; it equals only keys that ignore the same fields.

        Raises `ValueError` for an unknown field.
        """
        for field in fields:
            if field not in FIELDS and not field.startswith(f"{_OVERRIDES}."):
                raise ValueError(f"{field} is no field of what is compared")
        out = self.wider_by | set(fields)
        if any(_is_in(field, each) or _is_in(each, field) for field in fields for each in _IN_THE_HASH):
            out |= {_HASH}
        return Alike(tuple(each for each in self.values if not any(_is_in(each[0], field) for field in out)), out)


def alike(
    *,
    machine: MachineClass,
    server: str,
    version: str,
    spec: CrashSpec,
    storage: StorageKey,
    buffer_pool: int,
    settings: str = "",
) -> Alike:
    """Return the key of a recovery; for a load and the crash at its end, with the server and storage of the load."""
    values = {
        "machine": machine,
        "server": server,
        "version": version,
        "crash": spec.crash,
        "storage": storage,
        "buffer_pool": buffer_pool,
        "settings": settings,
        **dict(_taken_apart("spec", spec)),
    }
    return Alike(tuple(sorted(values.items())))


def storage_key(name: str, profile: StorageProfile | None) -> StorageKey:
    """Return the key of a storage. `profile` is None if it is no longer known."""
    if profile is None:
        return StorageKey(name=name)
    figures = msgspec.json.encode(storage_figures(profile), order="sorted")
    return StorageKey(name=name, figures=xxhash.xxh3_64_hexdigest(figures))


def pooled(keys: Iterable[Alike], *but: str) -> Alike:
    """Return the common key of results to pool, without some fields.

    Raises `LabError` if keys differ, or without results.
    """
    wider = [key.but(*but) for key in keys]
    if not wider:
        raise LabError("there is nothing to pool")
    for other in wider:
        if other != wider[0]:
            field, one, another = _difference(wider[0], other)
            raise LabError(
                f"what is not alike is not pooled: {field} is {one} and {another}", "take the runs of one of them"
            )
    return wider[0]


def grouped(keyed: Iterable[tuple[Alike, T]], *but: str) -> dict[Alike, list[T]]:
    """Return key, without some fields → its results, in the given order."""
    found: dict[Alike, list[T]] = {}
    for key, each in keyed:
        found.setdefault(key.but(*but), []).append(each)
    return found


def _difference(one: Alike, other: Alike) -> tuple[str, str, str]:
    """Return the first field in which two keys differ, and both values in words."""
    if one.wider_by != other.wider_by:
        (*_, field) = sorted(one.wider_by ^ other.wider_by)
        return (
            f"the comparison of {field}",
            *(("left out", "asked for") if field in one.wider_by else ("asked for", "left out")),
        )
    first, second = dict(one.values), dict(other.values)
    field = next(
        name for name in sorted({**first, **second}) if first.get(name, _NOT_SET) != second.get(name, _NOT_SET)
    )
    return field, _words(first.get(field, _NOT_SET)), _words(second.get(field, _NOT_SET))


def _words(value: object) -> str:
    if isinstance(value, MachineClass):
        return value.in_words()
    return f"{value.name} ({value.figures})" if isinstance(value, StorageKey) else str(value)


def _taken_apart(name: str, value: Any) -> Iterable[tuple[str, Hashable]]:
    for field in _fields(type(value)):
        if field in _out_of(value):
            continue
        inner, path = getattr(value, field), f"{name}.{field}"
        if path == _OVERRIDES:
            yield from ((f"{path}.{setting.name}", setting.value) for setting in inner)
        elif isinstance(inner, _APART):
            yield from _taken_apart(path, inner)
        else:
            yield path, inner


def _fields(kind: type[Any]) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    names: tuple[str, ...] = kind.__struct_fields__
    return names


def _out_of(value: object) -> Mapping[str, str]:
    return LEFT_OUT[type(value)]


def _is_in(field: str, within: str) -> bool:
    """Return True if a field is another one, or part of it."""
    return field == within or field.startswith(f"{within}.")


FIELDS = frozenset(
    {
        *("machine", "server", "version", "crash", "storage", "buffer_pool", "settings", "spec"),
        *(f"spec.{field}" for field in _fields(CrashSpec)),
        *(f"spec.dataset.{field}" for field in _fields(DatasetSpec)),
        *(f"spec.instance.{field}" for field in _fields(InstanceRequest)),
        *(f"spec.kill.{field}" for field in _fields(KillRule)),
    }
)
"""Fields that a key can ignore, besides single overrides as in `spec.instance.overrides.innodb_io_capacity`."""
