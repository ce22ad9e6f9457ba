"""Description of a machine: the facts without which a measured time means little."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import msgspec
import psutil

from redolab.machine import files, processes
from redolab.machine.distribution import os_release
from redolab.machine.facts import Disk, Machine


class _Lsblk(msgspec.Struct):
    blockdevices: list[_Block]


_CPU_FACTS = r"^(CPU implementer|CPU part|cpu|uarch|isa)\s*: (.*)"
"""Lines of /proc/cpuinfo that name the CPU on ARM, POWER and RISC-V."""


class _Block(msgspec.Struct):
    name: str
    model: str | None = None
    rota: bool | None = None


def total_memory() -> int:
    """Return the bytes of memory."""
    return psutil.virtual_memory().total


def free_memory() -> int:
    """Return the bytes of memory available without swapping, page cache included."""
    return psutil.virtual_memory().available


def read_machine(folder: Path) -> Machine:
    """Return the facts about this machine, and the disk under `folder`. Unknown facts are empty strings or None."""
    return Machine(
        cpu=cpu_name(_read("/proc/cpuinfo"), platform.machine(), _product()),
        cores=len(re.findall(r"^processor\s*:", _read("/proc/cpuinfo"), re.MULTILINE)),
        memory=total_memory(),
        kernel=processes.output_of("uname", "-sr"),
        system=os_release().get("PRETTY_NAME", ""),
        virtualisation=processes.output_of("systemd-detect-virt"),
        disk=read_disk(folder),
    )


def cpu_name(cpuinfo: str, architecture: str, product: str) -> str:
    """Return the CPU's model name or, if the kernel has none (ARM, POWER, RISC-V), other text that distinguishes CPUs.

    An ARM CPU reports vendor and kind of its core. Machines with the same core differ in clock and caches, so the
    name includes the `product` (the machine's maker and model).
    """
    if named := re.search(r"^model name\s*: (.*)", cpuinfo, re.MULTILINE):
        return named[1]
    facts = dict.fromkeys(re.findall(_CPU_FACTS, cpuinfo, re.MULTILINE))
    return ", ".join([architecture, *(f"{name} {value}" for name, value in facts), *([product] if product else [])])


def _product() -> str:
    """Return maker and model of the machine, from its firmware; empty if it does not tell them."""
    dmi = [_read(f"/sys/class/dmi/id/{name}").strip() for name in ("sys_vendor", "product_name")]
    return " ".join(filter(None, dmi)) or _read("/proc/device-tree/model").strip("\0\n")


def read_disk(folder: Path) -> Disk:
    """Return the disk that holds a folder, or would hold it once the folder is made."""
    folder = files.there(folder)
    columns = ("SOURCE", "FSTYPE", "SIZE", "AVAIL", "OPTIONS")
    found = processes.output_of(
        "findmnt",
        "--bytes",
        "--noheadings",
        "--raw",
        # Otherwise findmnt adds a folder or subvolume to the device's name, as for a container's volume.
        "--nofsroot",
        f"--output={','.join(columns)}",
        "--target",
        str(folder),
    )
    device, file_system, size, free, options = found.splitlines()[0].split(" ", 4) if found else ("", "", 0, 0, "")
    block = _block_device(device)
    return Disk(
        device=device,
        model=(block.model or "").strip() if block else "",
        rotational=block.rota if block else None,
        file_system=file_system,
        mount_options=options,
        size=int(size),
        free=int(free),
    )


def _block_device(device: str) -> _Block | None:
    if not device.startswith("/dev/"):
        return None
    try:
        listed = processes.output_of("lsblk", "--json", "--output=NAME,MODEL,ROTA", device)
        devices = msgspec.json.decode(listed, type=_Lsblk).blockdevices
    except msgspec.DecodeError:
        return None
    return devices[0] if devices else None


def _read(path: str) -> str:
    try:
        return Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return ""
