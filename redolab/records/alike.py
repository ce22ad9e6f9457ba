"""What may be compared: one key by which recoveries, loads and crashes are grouped, and what it refuses to pool."""

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
                    "lab_cpu_seconds", "disturbance",
                ),
                _MEASURED,
            ),
        },
    }
)  # fmt: skip
"""Type → its fields that are not in the key, and why."""
_APART = (InstanceRequest, DatasetSpec, KillRule)
"""What of a spec is taken apart, field by field; what else it has is compared as a whole."""
_OVERRIDES = "spec.instance.overrides"
_HASH = "spec.made_with"
_IN_THE_HASH = ("spec.instance", "spec.workload", "spec.storage", "spec.dataset.server", "spec.dataset.version")
"""What the hash in a spec is also made of: where one of these is out of comparison, the hash is."""
_NOT_SET = "not set"


class StorageKey(msgspec.Struct, frozen=True, kw_only=True):
    """A storage profile: its name, and a hash of what it is to be. What fio found of it is a mark, and no key."""

    name: str
    figures: str = ""
    """Empty where it is not known any more."""


@dataclass(frozen=True, slots=True)
class Alike:
    """What is equal between results that may be pooled, field by field (`spec.instance.log_size`); see `alike`."""

    values: tuple[tuple[str, Hashable], ...]
    wider_by: frozenset[str] = frozenset()
    """The fields that are out of comparison."""

    def __getitem__(self, field: str) -> Any:
        """The value of a field. Raises `KeyError` where it is out of comparison."""
        return dict(self.values)[field]

    @property
    def machine(self) -> MachineClass:
        """The class of the machine."""
        found: MachineClass = self["machine"]
        return found

    @property
    def storage(self) -> StorageKey:
        """On which it was recovered, or loaded."""
        found: StorageKey = self["storage"]
        return found

    def but(self, *fields: str) -> Alike:
        """The key with these fields, and what is in them, out of comparison: equal only to keys that are as wide.

        Raises `ValueError` for what is no field.
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
    """The key of a recovery; of a load, and of the crash at its end, with the server and the storage under load."""
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
    """The key of a storage; `profile`: what it was to be, None where that is not known any more."""
    if profile is None:
        return StorageKey(name=name)
    figures = msgspec.json.encode(storage_figures(profile), order="sorted")
    return StorageKey(name=name, figures=xxhash.xxh3_64_hexdigest(figures))


def pooled(keys: Iterable[Alike], *but: str) -> Alike:
    """The one key of what is to be pooled, these fields aside. Raises `LabError` if it is not alike, or if there is nothing."""
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
    """Key, these fields aside → what has it, in the order given."""
    found: dict[Alike, list[T]] = {}
    for key, each in keyed:
        found.setdefault(key.but(*but), []).append(each)
    return found


def _difference(one: Alike, other: Alike) -> tuple[str, str, str]:
    """The first field in which two keys differ, and both values in words."""
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
    """Whether a field is another one, or part of it."""
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
"""What can be left out of comparison; beside these a single override, as in `spec.instance.overrides.innodb_io_capacity`."""
