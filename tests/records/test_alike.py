"""What may be pooled: equal keys alone, widened on purpose, and every new field has its position."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from redolab.errors import LabError
from redolab.machine.machine_class import MachineClass, are_of_one_class, machine_classes
from redolab.records.alike import LEFT_OUT, Alike, alike, grouped, pooled, storage_key
from redolab.records.crash import CrashSpec
from redolab.records.dataset import DatasetSpec
from redolab.records.kill_rule import KillRule
from redolab.records.recovery import RecoveryTrial
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.storage.catalogue import storage_profile
from redolab.storage.profiles import FlashDisk
from redolab.units import GIB, MIB
from tests.examples import MACHINE, image

SPEC = image().spec


def key(**changes: Any) -> Alike:
    (here,) = machine_classes([MACHINE])
    usual: dict[str, Any] = {
        "machine": here,
        "server": "mariadb-10.11",
        "version": "10.11.19",
        "spec": SPEC,
        "storage": storage_key("native", storage_profile("native")),
        "buffer_pool": GIB,
    }
    return alike(**{**usual, **changes})


def with_memory(size: int) -> Any:
    return msgspec.structs.replace(MACHINE, memory=size)


def overridden(**settings: str) -> CrashSpec:
    overrides = tuple(Setting(name, value, "because") for name, value in settings.items())
    return msgspec.structs.replace(SPEC, instance=replace(SPEC.instance, overrides=overrides))


PLACED: dict[type, set[str]] = {
    CrashSpec: {
        "dataset", "workload", "threads", "kill", "instance", "made_with", "prepared_transactions", "think_time", "pool_dump",
        "storage",
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


def unplaced(kind: type) -> set[str]:
    """The fields of which nobody has said whether they are compared."""
    return fields_of(kind) - PLACED[kind] - set(LEFT_OUT[kind])


@pytest.mark.parametrize("kind", list(PLACED), ids=lambda kind: kind.__name__)
def test_every_field_is_compared_or_left_out_for_a_reason(kind: type) -> None:
    assert unplaced(kind) == set()
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
    out = ("spec.instance.overrides", "spec.instance.log_size")
    assert key(spec=before).but(*out) != key(spec=now).but(*out)


@pytest.mark.parametrize(
    ("field", "changes", "said"),
    [
        ("machine", {"machine": machine_classes([msgspec.structs.replace(MACHINE, cpu="another CPU")])[0]}, "a CPU"),
        ("version", {"version": "10.11.20"}, "10.11.19 and 10.11.20"),
        ("crash", {"spec": msgspec.structs.replace(SPEC, crash="disk-power")}, "kill and disk-power"),
        ("storage", {"storage": storage_key("native", None)}, "native"),
        ("buffer_pool", {"buffer_pool": MIB}, str(MIB)),
        ("settings", {"settings": "innodb_doublewrite=0"}, "innodb_doublewrite=0"),
        ("spec.workload", {"spec": msgspec.structs.replace(SPEC, workload="tpcc")}, "bulk-update and tpcc"),
        (
            "spec.kill.after",
            {"spec": msgspec.structs.replace(SPEC, kill=msgspec.structs.replace(SPEC.kill, after=60))},
            "None and 60",
        ),
        (
            "spec.instance.overrides.innodb_io_capacity",
            {"spec": overridden(innodb_io_capacity="9")},
            "not set and 9",
        ),
    ],
)
def test_what_is_not_alike_is_refused_with_the_field_and_both_values(
    field: str, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(LabError, match=f"not pooled: {field} is .*") as refused:
        pooled([key(), key(**changes)])
    assert said in str(refused.value)
    assert pooled([key(), key(**changes)], field) == key().but(field)


def test_what_is_out_of_comparison_is_said_and_keys_of_different_width_are_never_equal() -> None:
    wide = key().but("buffer_pool")
    assert wide == key(buffer_pool=MIB).but("buffer_pool")
    assert wide != key()
    assert wide != key().but("buffer_pool", "settings")
    assert wide.wider_by == {"buffer_pool"}
    with pytest.raises(KeyError):
        wide["buffer_pool"]
    with pytest.raises(ValueError, match="pool_size is no field"):
        key().but("pool_size")
    with pytest.raises(LabError, match="the comparison of buffer_pool is left out and asked for"):
        pooled([wide, key()])


def test_the_hash_of_a_spec_goes_with_what_it_is_made_of() -> None:
    small = msgspec.structs.replace(SPEC, made_with="one", instance=replace(SPEC.instance, log_size=MIB))
    large = msgspec.structs.replace(SPEC, made_with="other", instance=replace(SPEC.instance, log_size=GIB))
    assert key(spec=small).but("spec.instance.log_size") == key(spec=large).but("spec.instance.log_size")
    assert key(spec=small).but("buffer_pool") != key(spec=msgspec.structs.replace(small, made_with="x")).but(
        "buffer_pool"
    )


def test_single_settings_can_be_left_out() -> None:
    one, other = (key(spec=overridden(innodb_io_capacity=value, innodb_flush_neighbors="0")) for value in "12")
    assert one.but("spec.instance.overrides.innodb_io_capacity") == other.but(
        "spec.instance.overrides.innodb_io_capacity"
    )
    assert one.but("spec.instance.overrides.innodb_flush_neighbors") != other.but(
        "spec.instance.overrides.innodb_flush_neighbors"
    )
    assert list(grouped([(one, 1), (other, 2), (one, 3)]).values()) == [[1, 3], [2]]
    assert list(grouped([(one, 1), (other, 2)], "spec.instance.overrides").values()) == [[1, 2]]


def test_a_storage_is_its_figures_and_not_what_is_said_of_them() -> None:
    profile = storage_profile("cloud-ssd")
    assert isinstance(profile, FlashDisk)
    told = msgspec.structs.replace(profile, about="the same, in other words", sources={})
    faster = msgspec.structs.replace(profile, read_us=1.0)
    assert storage_key("cloud-ssd", told) == storage_key("cloud-ssd", profile)
    assert storage_key("cloud-ssd", faster) != storage_key("cloud-ssd", profile)


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
