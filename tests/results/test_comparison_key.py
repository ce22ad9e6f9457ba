"""What may be pooled: equal keys alone, widened on purpose, and every new field has its position."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from redolab.crash.records.crash import CrashSpec
from redolab.crash.records.dataset import DatasetSpec
from redolab.crash.records.kill_rule import KillRule
from redolab.crash.records.recovery import RecoveryTrial
from redolab.disks.catalogue import storage_profile
from redolab.disks.profiles import FlashDisk
from redolab.machine.machine_class import MachineClass, are_of_one_class, machine_classes
from redolab.results.comparison_key import (
    LEFT_OUT,
    ComparisonKey,
    Field,
    Override,
    comparison_key,
    grouped,
    storage_key,
)
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.units import GIB, MIB
from tests.examples import MACHINE, image

SPEC = image().spec


def key(**changes: Any) -> ComparisonKey:
    (here,) = machine_classes([MACHINE])
    usual: dict[str, Any] = {
        "machine": here,
        "server": "mariadb-10.11",
        "version": "10.11.19",
        "spec": SPEC,
        "storage": storage_key("local", storage_profile("local")),
        "buffer_pool": GIB,
    }
    return comparison_key(**{**usual, **changes})


def with_memory(size: int) -> Any:
    return msgspec.structs.replace(MACHINE, memory=size)


def overridden(**settings: str) -> CrashSpec:
    overrides = tuple(Setting(name, value, "because") for name, value in settings.items())
    return msgspec.structs.replace(SPEC, instance=replace(SPEC.instance, overrides=overrides))


PLACED: dict[type, set[str]] = {
    CrashSpec: {
        "dataset", "workload", "threads", "kill", "instance", "made_with", "prepared_transactions", "think_time", "pool_dump",
        "storage", "binary_log_end",
    },
    DatasetSpec: {
        "server", "version", "size", "data", "open_transaction_rows", "schema", "empty_tables", "page_size", "own_files",
    },
    InstanceRequest: {
        "purpose", "log_size", "buffer_pool", "flush_log_at_trx_commit", "binary_log", "redo_apart", "sync_binlog", "slow_log",
        "network", "page_size", "overrides", "without",
    },
    KillRule: {"highest_age", "age_fraction", "age", "after", "steady", "moment"},
    Setting: {"name", "value"},
    RecoveryTrial: {"server", "version", "storage", "buffer_pool", "settings"},
}  # fmt: skip


def fields_of(kind: Any) -> set[str]:
    return set(kind.__struct_fields__ if issubclass(kind, msgspec.Struct) else kind.__dataclass_fields__)


@pytest.mark.parametrize("kind", list(PLACED), ids=lambda kind: kind.__name__)
def test_every_field_is_compared_or_left_out_for_a_reason(kind: type) -> None:
    assert set(LEFT_OUT[kind]) | PLACED[kind] == fields_of(kind)
    assert not PLACED[kind] & set(LEFT_OUT[kind])
    assert all(LEFT_OUT[kind].values())


def test_crashes_made_alike_are_alike_whatever_their_number_and_the_reasons_of_their_settings() -> None:
    assert key(spec=msgspec.structs.replace(SPEC, number=2)) == key()
    said_otherwise = msgspec.structs.replace(
        SPEC, instance=replace(SPEC.instance, overrides=(Setting("innodb_io_capacity", "9", "for another reason"),))
    )
    assert key(spec=said_otherwise) == key(spec=overridden(innodb_io_capacity="9"))
    assert hash(key(spec=said_otherwise)) == hash(key(spec=overridden(innodb_io_capacity="9")))


def test_loads_of_before_and_after_production_took_the_vendors_settings_stay_apart() -> None:
    """Also where the overrides are out of comparison, and with them the hash of all settings."""
    before, now = (
        msgspec.structs.replace(SPEC, instance=replace(SPEC.instance, purpose=Purpose(purpose)))
        for purpose in ("production", "production-defaults")
    )
    assert before.instance.purpose.is_production
    assert now.instance.purpose.is_production
    out = (Field.OVERRIDES, Field.LOG_SIZE)
    assert key(spec=before).ignoring(*out) != key(spec=now).ignoring(*out)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        (Field.MACHINE, {"machine": machine_classes([msgspec.structs.replace(MACHINE, cpu="another CPU")])[0]}),
        (Field.VERSION, {"version": "10.11.20"}),
        (Field.CRASH, {"spec": msgspec.structs.replace(SPEC, crash="disk-power")}),
        (Field.STORAGE, {"storage": storage_key("local", None)}),
        (Field.BUFFER_POOL, {"buffer_pool": MIB}),
        (Field.SETTINGS, {"settings": "innodb_doublewrite=0"}),
        (Field.SPEC, {"spec": msgspec.structs.replace(SPEC, workload="tpcc")}),
        (Field.KILL, {"spec": msgspec.structs.replace(SPEC, kill=msgspec.structs.replace(SPEC.kill, after=60))}),
        (Override("innodb_io_capacity"), {"spec": overridden(innodb_io_capacity="9")}),
    ],
)
def test_what_differs_is_equal_only_where_it_is_ignored(field: Field | Override, changes: dict[str, Any]) -> None:
    assert key() != key(**changes)
    assert key().ignoring(field) == key(**changes).ignoring(field)


def test_keys_of_different_width_are_never_equal() -> None:
    wide = key().ignoring(Field.BUFFER_POOL)
    assert wide not in {key(), key().ignoring(Field.BUFFER_POOL, Field.SETTINGS)}
    assert wide.wider_by == {"buffer_pool"}
    with pytest.raises(KeyError):
        assert key().ignoring(Field.MACHINE).machine


def test_the_hash_of_a_spec_goes_with_what_it_is_made_of() -> None:
    small = msgspec.structs.replace(SPEC, made_with="one", instance=replace(SPEC.instance, log_size=MIB))
    large = msgspec.structs.replace(SPEC, made_with="other", instance=replace(SPEC.instance, log_size=GIB))
    assert key(spec=small).ignoring(Field.LOG_SIZE) == key(spec=large).ignoring(Field.LOG_SIZE)
    assert key(spec=small).ignoring(Field.BUFFER_POOL) != key(
        spec=msgspec.structs.replace(small, made_with="x")
    ).ignoring(Field.BUFFER_POOL)


def test_single_settings_can_be_left_out() -> None:
    one, other = (key(spec=overridden(innodb_io_capacity=value, innodb_flush_neighbors="0")) for value in "12")
    assert one.ignoring(Override("innodb_io_capacity")) == other.ignoring(Override("innodb_io_capacity"))
    assert one.ignoring(Override("innodb_flush_neighbors")) != other.ignoring(Override("innodb_flush_neighbors"))
    assert list(grouped([(one, 1), (other, 2), (one, 3)]).values()) == [[1, 3], [2]]
    assert list(grouped([(one, 1), (other, 2)], Field.OVERRIDES).values()) == [[1, 2]]


def test_a_storage_is_its_figures_and_not_what_is_said_of_them() -> None:
    profile = storage_profile("gp3-3000")
    assert isinstance(profile, FlashDisk)
    told = msgspec.structs.replace(profile, about="the same, in other words", sources={})
    faster = msgspec.structs.replace(profile, read_us=1.0)
    assert storage_key("gp3-3000", told) == storage_key("gp3-3000", profile)
    assert storage_key("gp3-3000", faster) != storage_key("gp3-3000", profile)


def test_memory_that_kernels_report_a_little_otherwise_is_alike_also_by_way_of_a_third() -> None:
    small, middle, large = with_memory(1000), with_memory(1015), with_memory(1030)
    assert are_of_one_class(small, middle)
    assert not are_of_one_class(small, large)
    assert len(set(machine_classes([large, small, middle]))) == 1
    assert {each.memory for each in machine_classes([large, middle, small])} == {1000}
    assert [each.memory for each in machine_classes([large, small])] == [1030, 1000]


def test_a_class_is_hardware_and_not_a_device_or_a_kernel() -> None:
    elsewhere = msgspec.structs.replace(
        MACHINE, kernel="Linux 7", disk=msgspec.structs.replace(MACHINE.disk, device="/dev/y")
    )
    assert are_of_one_class(MACHINE, elsewhere)
    for field, value in {"cpu": "x", "cores": 3, "virtualisation": "kvm"}.items():
        assert not are_of_one_class(MACHINE, msgspec.structs.replace(MACHINE, **{field: value}))
    xfs = msgspec.structs.replace(MACHINE, disk=msgspec.structs.replace(MACHINE.disk, file_system="xfs"))
    assert not are_of_one_class(MACHINE, xfs)
    assert isinstance(machine_classes([xfs])[0], MachineClass)
