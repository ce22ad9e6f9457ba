"""QEMU's command for a guest: one server, its system, its disk with a cache mode of the host's, and a way in for clients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.machine.processes import Command, run
from redolab.powercut.guest.host_cache import HostCache
from redolab.powercut.guest.parts import MODULES, QEMU, GuestParts
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import PORT, InstanceRequest, Setting
from redolab.servers.install import InstalledServer
from redolab.servers.instance import server_arguments
from redolab.servers.sources.folder import FolderSource
from redolab.units import MIB

CLIENT = "192.0.2.2"
"""Whom a server in a guest takes its clients for: QEMU's network has them come from there. (Of those that nobody has, RFC 5737.)"""
_GUEST, _NETWORK = "192.0.2.15", "192.0.2.0/24"
_MEMORY = 768 * MIB
"""Of the guest beside the buffer pool."""
_SPARE = 64 * MIB
# In a network namespace of its own, so that nobody but who joins it reaches the server; it takes its end as QEMU's.
_ALONE = '"$1" ip link set lo up && shift && exec "$@"'


@dataclass(frozen=True, slots=True)
class Guest:
    """The machine in which a server is to run."""

    parts: GuestParts
    cache: HostCache


def check_server(server: str) -> None:
    """Raises `InvalidInput` for a server of the catalogue that no guest can run: one in a folder of its owner's."""
    if isinstance(server_catalogue().get(server).source, FolderSource):
        raise InvalidInput(
            f"{server} lies in the system of this machine, which no guest has", "name a server of the lab's own"
        )


def as_in_guest(request: InstanceRequest) -> InstanceRequest:
    """What is requested of a server whose clients are outside its machine."""
    outside = Setting("bind_address", _GUEST, "its clients come from outside the machine, which nobody else reaches")
    return replace(request, network=True, overrides=(*request.overrides, outside))


def memory_of_guest(buffer_pool: int) -> int:
    """Bytes of memory that a guest has."""
    return _MEMORY + buffer_pool


def system_disk(server: InstalledServer, file: Path) -> None:
    """Make a disk with what the lab has of a server: its system, and the few files of /etc that it looks at. Raises `LabError`."""
    blocks = (files.folder_size(server.folder) * 5 // 4 + _SPARE) // 4096
    made = ["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^has_journal", "-m", "0", "-d", str(server.folder)]
    run(Command([*made, str(file), str(blocks)]))


def booted(
    guest: Guest, server: InstalledServer, request: InstanceRequest, *, system: Path, disk: Path, file_system: str
) -> Command:
    """What boots a guest for a server; its disk is the block device `disk`, its log is what this prints."""
    told = {
        "console": "ttyS0",
        "panic": "-1",
        "modules": ",".join(MODULES),
        "address": f"{_GUEST}/24",
        "file_system": file_system,
        "program": str(server.program),
        "arguments": ",".join(server_arguments(server)),
    }
    line = " ".join(["quiet", *(f"{name}={value}" for name, value in told.items())])
    words = [
        *(
            QEMU,
            "-nodefaults",
            "-no-user-config",
            "-no-reboot",
            "-display",
            "none",
            "-serial",
            "stdio",
            "-sandbox",
            "on",
        ),
        *(("-accel", "kvm", "-cpu", "host") if guest.parts.kvm else ("-accel", "tcg", "-cpu", "max")),
        *("-smp", "2", "-m", f"{memory_of_guest(request.buffer_pool) // MIB}M"),
        *("-kernel", str(guest.parts.kernel), "-initrd", str(guest.parts.first_file_system), "-append", line),
        *("-drive", f"file={disk},format=raw,if=virtio,cache={guest.cache}"),
        *("-drive", f"file={_escaped(system)},format=raw,if=virtio,read-only=on"),
        *(
            "-netdev",
            f"user,id=clients,net={_NETWORK},host={CLIENT},restrict=on,hostfwd=tcp:127.0.0.1:{PORT}-{_GUEST}:{PORT}",
        ),
        *("-device", "virtio-net-pci,netdev=clients,romfile="),
    ]
    return Command(["unshare", "--net", "--", "sh", "-c", _ALONE, "sh", str(guest.parts.busybox), *words])


def _escaped(path: Path) -> str:
    """A path as a value of one of QEMU's options, whose parts commas separate."""
    return str(path).replace(",", ",,")
