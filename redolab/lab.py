"""An open lab: a host that belongs to this command alone, and what experiments need on it."""

from __future__ import annotations

import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from redolab.catalogue import Catalogue
from redolab.errors import Busy, Interrupted, InvalidInput
from redolab.hosts import Host
from redolab.hosts.local import LocalHost
from redolab.ledger import Ledger
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.servers.catalogue import CatalogueEntry
from redolab.servers.install import InstalledServer, Servers
from redolab.servers.own import OwnServers
from redolab.storage import StorageProfile
from redolab.storage.folder import FolderStorage
from redolab.tools import Tools
from redolab.workloads import Workload
from redolab.workloads.sysbench import SysbenchWorkload

# An abstract socket: the kernel gives the name back when its holder dies, however it dies, and no file stays.
_LOCK = "\0redolab"

HOME = "native"
"""The storage profile on which datasets and crash images are kept."""

LAB_FOLDERS = ("ledger", "servers", "storage/native", "storage/disks", "tools", "tools.apt", "tools.partial")
"""All that the lab makes in its folder on a host."""


@dataclass(frozen=True, slots=True)
class Lab:
    """What experiments work with."""

    host: Host
    folder: Path
    """Where the lab's own things lie on the host."""
    progress: Progress
    ledger: Ledger
    tools: Tools
    servers: Servers

    @property
    def home(self) -> Path:
        """Where datasets and crash images are kept."""
        return native_folder(self.folder)

    def server(self, name: str) -> InstalledServer:
        """A server of the catalogue, unpacked if it is not yet. Raises `LabError`."""
        self.tools.require(["bwrap", "sysbench"], self.progress)
        return self.servers.install(name, server_catalogue().get(name), self.progress)


def server_catalogue() -> Catalogue[CatalogueEntry]:
    """The servers there are: the project's own catalogue and what the user added."""
    ours = Catalogue.read("server", PROJECT.provision / "servers.toml", CatalogueEntry)
    return Catalogue(ours.noun, {**dict(ours.items()), **own_servers().entries()})


def own_servers() -> OwnServers:
    """The servers that the user added."""
    return OwnServers(PROJECT.own_servers)


def storage_catalogue() -> Catalogue[StorageProfile]:
    """The storage profiles there are: the project's own catalogue and the user's own file."""
    ours: Catalogue[StorageProfile] = Catalogue.read(
        "storage profile", PROJECT.provision / "storage.toml", StorageProfile
    )
    if not PROJECT.own_storage.exists():
        return ours
    own: Catalogue[StorageProfile] = Catalogue.read("storage profile", PROJECT.own_storage, StorageProfile)
    for name in own.names():
        if name in ours.names():
            raise InvalidInput(
                f"{PROJECT.own_storage} has a storage profile '{name}', and so has the project", "name yours otherwise"
            )
    return Catalogue(ours.noun, {**dict(ours.items()), **dict(own.items())})


def storage_profile(name: str) -> StorageProfile:
    """The storage of that name; an absolute path is a folder. Raises `InvalidInput`, which lists the names there are."""
    if name.startswith("/"):
        return FolderStorage(path=name, about="a folder of the user's")
    return storage_catalogue().get(name)


def native_folder(lab_folder: Path) -> Path:
    """Where datasets and crash images are kept in a lab's folder: on the native storage."""
    native = storage_catalogue().get(HOME)
    assert isinstance(native, FolderStorage)
    return lab_folder / native.path


def workload_catalogue() -> Catalogue[Workload]:
    """The workloads there are."""
    entries = Catalogue.read("workload", PROJECT.provision / "workloads.toml", SysbenchWorkload)
    return Catalogue(entries.noun, dict(entries.items()))


def ledger_of(host: Host, folder: Path) -> Ledger:
    """The ledger in the lab's folder on a host."""
    return Ledger(host, folder / "ledger")


def tools_of(host: Host, folder: Path) -> Tools:
    """The tools of a host, where they are unpacked in the lab's folder."""
    return Tools(host, folder / "tools", ledger_of(host, folder))


def servers_of(host: Host, folder: Path) -> Servers:
    """The servers in the lab's folder on a host."""
    return Servers(host, folder / "servers", ledger_of(host, folder), tools_of(host, folder))


@contextmanager
def open_lab(progress: Progress, clean_up: Callable[[], list[str]]) -> Iterator[Lab]:
    """While in it: this machine is the lab's alone. What a killed lab left is named and taken away first.

    `clean_up` takes away what else the command knows of, and says what that was. Raises `Busy` if another run has
    the machine.
    """
    host = LocalHost()
    folder = PROJECT.lab
    with _alone(), _signals_as_interrupts():
        ledger = ledger_of(host, folder)
        tools = tools_of(host, folder)
        servers = servers_of(host, folder)
        lab = Lab(host=host, folder=folder, progress=progress, ledger=ledger, tools=tools, servers=servers)
        for left in [*ledger.clear(), *clean_up()]:
            progress.note(f"an earlier run was killed and left {left}: cleaned up")
        host.files.make_folder(lab.home)
        yield lab


@contextmanager
def _alone() -> Iterator[None]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lock:
        try:
            lock.bind(_LOCK)
        except OSError:
            raise Busy(
                f"another redolab run (process {_lock_holder()}) has this machine",
                "two at once would spoil both measurements: wait for it or stop it",
            ) from None
        # Nobody is ever accepted; whoever asks who holds the lock stays queued.
        lock.listen(4096)
        yield


def _lock_holder() -> str:
    """Who listens on the lock's socket, as the kernel says it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_LOCK)
            credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return "unknown"
        return str(struct.unpack("3i", credentials)[0])


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP unwind the lab once; while it cleans up, further ones are ignored."""
    caught = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(number: int, _frame: FrameType | None) -> None:
        for each in caught:
            signal.signal(each, signal.SIG_IGN)
        name = signal.Signals(number).name
        raise Interrupted(f"stopped by {name}: everything the run had started is ended and removed")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, interrupt) for each in caught}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
