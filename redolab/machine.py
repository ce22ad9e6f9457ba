"""What a machine is: the facts without which a measured time means little."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from redolab.hosts import Command, Host


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder lies on."""

    device: str
    model: str
    rotational: bool | None
    file_system: str
    mount_options: str
    size: int
    free: int


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A host's hardware and system; sizes in bytes."""

    cpu: str
    cores: int
    memory: int
    kernel: str
    system: str
    virtualisation: str
    disk: Disk


class _Lsblk(msgspec.Struct):
    blockdevices: list[_Block]


class _Block(msgspec.Struct):
    name: str
    model: str | None = None
    rota: bool | None = None


def read_machine(host: Host, folder: Path) -> Machine:
    """The facts of a host; the disk is the one on which `folder` lies. What cannot be told is an empty string or None."""
    cpu = re.search(r"model name\s*: (.*)", _read(host, "/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s*(\d+) kB", _read(host, "/proc/meminfo"))
    system = re.search(r'PRETTY_NAME="(.*)"', _read(host, "/etc/os-release"))
    return Machine(
        cpu=cpu[1] if cpu else "",
        cores=len(re.findall(r"^processor\s*:", _read(host, "/proc/cpuinfo"), re.MULTILINE)),
        memory=int(memory[1]) * 1024 if memory else 0,
        kernel=_said(host, "uname", "-sr"),
        system=system[1] if system else "",
        virtualisation=_said(host, "systemd-detect-virt"),
        disk=_read_disk(host, folder),
    )


def _read_disk(host: Host, folder: Path) -> Disk:
    columns = ("SOURCE", "FSTYPE", "SIZE", "AVAIL", "OPTIONS")
    said = _said(
        host,
        "findmnt",
        "--bytes",
        "--noheadings",
        "--raw",
        f"--output={','.join(columns)}",
        "--target",
        str(folder),
    )
    device, file_system, size, free, options = (
        (said.splitlines() or [""])[0].split(" ", 4) if said else ("", "", "0", "0", "")
    )
    block = _block_device(host, device)
    return Disk(
        device=device,
        model=(block.model or "").strip() if block else "",
        rotational=block.rota if block else None,
        file_system=file_system,
        mount_options=options,
        size=int(size),
        free=int(free),
    )


def _block_device(host: Host, device: str) -> _Block | None:
    said = _said(host, "lsblk", "--json", "--output=NAME,MODEL,ROTA", device) if device.startswith("/dev/") else ""
    try:
        devices = msgspec.json.decode(said, type=_Lsblk).blockdevices
    except msgspec.DecodeError:
        return None
    return devices[0] if devices else None


def _read(host: Host, path: str) -> str:
    try:
        return host.files.read(Path(path)).decode(errors="replace")
    except FileNotFoundError:
        return ""


def _said(host: Host, *arguments: str) -> str:
    if host.which(arguments[0]) is None:
        return ""
    return host.run(Command(arguments), check=False).out.strip()
