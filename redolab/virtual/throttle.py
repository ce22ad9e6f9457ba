"""A disk of the guest that libvirt lets have only so many operations and bytes a second: those of a storage profile."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from redolab.errors import InvalidInput, LabError
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.storage.catalogue import storage_catalogue
from redolab.storage.profiles import FlashDisk
from redolab.virtual.libvirt import Libvirt

_MEGABYTE = 1_000_000


def limits_of(profile: str) -> Sequence[str]:
    """What `virsh blkdeviotune` is told for a storage profile. Raises `InvalidInput` for one that is more than such limits."""
    disk = storage_catalogue().get(profile)
    if not isinstance(disk, FlashDisk):
        raise InvalidInput(
            f"disk_profile: libvirt limits operations and bytes a second, and {profile} is more than that",
            "choose a disk without moving parts, as cloud-ssd; STORAGE= has the others, by the disk model in the guest",
        )
    if disk.shared:
        given = {"total-iops-sec": disk.read_iops, "total-bytes-sec": _bytes(disk.read_mb_s)}
    else:
        given = {
            "read-iops-sec": disk.read_iops,
            "write-iops-sec": disk.write_iops,
            "read-bytes-sec": _bytes(disk.read_mb_s),
            "write-bytes-sec": _bytes(disk.write_mb_s or disk.read_mb_s),
        }
    return [f"--{name}={value}" for name, value in given.items() if value is not None]


def throttle(libvirt: Libvirt, domain: str, serial: str, profile: str) -> None:
    """Have libvirt limit the disk with that serial number of a running guest. Raises `LabError`."""
    limits = limits_of(profile)
    told = libvirt.virsh("blkdeviotune", domain, _target(libvirt.virsh("dumpxml", domain), serial), "--live", *limits)
    processes.run(told)


def _target(dump: Command, serial: str) -> str:
    """The name under which the guest has a disk, as in `vdb`."""
    for disk in ET.fromstring(processes.run(dump).out).iter("disk"):
        target = disk.find("target")
        if disk.findtext("serial") == serial and target is not None:
            return target.attrib["dev"]
    raise LabError(f"the guest has no disk {serial}", "'make destroy' and 'make up' make it anew")


def _bytes(megabytes: float) -> int:
    return round(megabytes * _MEGABYTE)
