"""Dask as the lab uses it: a scheduler, a worker on each machine, and the certificates by which they trust each other.

Dask runs any code it is sent, and the lab runs as root. Every port that can run code therefore uses TLS, also on
loopback, which every account reaches. The pages that Dask serves over HTTP are on loopback only, and only for a
dashboard that is asked for.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import ssl
import stat
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.machine.lab_folder import claim_lab_folder
from redolab.machine.lock import locked
from redolab.project import PROJECT

if TYPE_CHECKING:
    from distributed import Security

Role = Literal["scheduler", "worker", "client"]
PROTOCOL, PORT = "tls", 8786
"""Dask's word for TLS, and Dask's own port."""
WHOSE = "it and we must be of one account, or our certificates of one CA"
"""Advice for a peer that does not answer."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ADDRESS = re.compile(
    r"(?P<protocol>tcp|tls)://(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?/?"
)
MACHINE = "machine"
"""The resource of which each worker has one and each group takes one: a machine measures one thing at a time."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_SCRATCH = "cluster/dask"
_RENEWED_AFTER = 300 * 86400.0
"""Seconds: a certificate is good for a year, and a scheduler that starts with this one for two months more."""
_PAGES = [f"distributed.http.{name}" for name in ("scheduler.info", "scheduler.json", "health", "statics")]
"""Modules for a dashboard. `scheduler.api`, which sends workers away, and `proxy`, which asks other hosts, stay out."""
_TO_CLEAN_UP = 90.0
"""Seconds that a worker has to end its work in order."""
_LOGS = ("distributed", "distributed.client", "tornado", "tornado.application", "bokeh")
_SETTINGS = {
    # Dask's periodic work would run during a timed recovery.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    # Gone for half a minute is gone: another machine takes its group.
    "distributed.comm.timeouts.tcp": "30s",
    # Requests from other pages in the same browser are refused: only localhost is allowed.
    "distributed.scheduler.dashboard.bokeh-application.allow_websocket_origin": [],
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Address on which a scheduler listens."""

    host: str
    """Host name or address; IPv6 addresses in brackets."""
    port: int

    def __str__(self) -> str:
        return f"{PROTOCOL}://{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Return whether only this machine reaches it."""
        return self.host in _LOOPBACK


def parse_cluster(text: str) -> ClusterAddress:
    """Parse the address of a scheduler. Raises `InvalidInput` for any other text, and for a port without TLS."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or not 0 < int(match["port"] or PORT) < 65536:
        example = f"as in tls://HOST:{PORT}, or tls://127.0.0.1:{PORT} on this machine"
        raise InvalidInput(f"'{text}' is no cluster", example)
    address = ClusterAddress(match["host"], int(match["port"] or PORT))
    if match["protocol"] != PROTOCOL:
        who = "every account of this machine" if address.is_loopback else "whoever reaches it"
        raise InvalidInput(f"{text.strip()} is open to {who}, and Dask runs what it is sent", f"use {address}")
    return address


def security(role: Role, address: ClusterAddress) -> Security:
    """Return the certificates for a role: Dask's configured ones, or the lab's on loopback. Raises `LabError`."""
    from distributed import Security

    configured, needed = Security(require_encryption=True), ("tls_ca_file", f"tls_{role}_cert", f"tls_{role}_key")
    paths = [getattr(configured, name) for name in needed]
    if address.is_loopback and not any(paths):
        return Security(require_encryption=True, **dict.fromkeys(needed, _own_certificate(role)))
    if not all(paths):
        names = f"ca-file, {role}.cert and {role}.key of distributed.comm.tls"
        raise InvalidInput("Dask has no certificate for TLS", f"set {names} in ~/.config/dask (docs/machines.md)")
    try:
        configured.get_connection_args(role)
    except (ssl.SSLError, OSError) as error:
        named = f"distributed.comm.tls of Dask's configuration names {', '.join(paths)}"
        raise InvalidInput(f"Dask cannot use its certificate for TLS ({error})", named) from error
    return configured


def _own_certificate(role: Role) -> str:
    """Return the lab's own key and certificate, by which processes of one account trust each other. Raises `LabError`.

    Dask makes them if they are missing, and anew when a scheduler starts with a certificate that expires soon.
    """
    from distributed import Security

    path = PROJECT.own_cluster / "loopback.pem"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(path.with_name("lock"), mode=0o600):
        if not path.exists() or (role == "scheduler" and time.time() - path.stat().st_mtime > _RENEWED_AFTER):
            made = Security.temporary()
            files.write_whole(path, f"{made.tls_scheduler_key}{made.tls_scheduler_cert}".encode(), mode=0o600)
        for each in (path.parent, path):
            found = each.lstat()
            if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise LabError(
                    f"another account could read or write {each}, and who has that certificate can run anything here",
                    "remove it, and the lab makes it anew; $XDG_CONFIG_HOME names another folder for it",
                )
        return path.read_text()


def reasons(error: BaseException) -> str:
    """Return the messages of a Dask error and its causes, the first cause last."""
    messages = [str(error).partition("\n")[0] or type(error).__name__]
    while (behind := error.__cause__ or error.__context__) is not None:
        error = behind
        messages.append(str(error).partition("\n")[0])
    return "; ".join(dict.fromkeys(filter(None, messages)))


def prepare() -> None:
    """Make Dask quiet in its log and on the CPU; call it before anything of Dask starts."""
    import dask

    # Dask reads it when `distributed` is imported. A user who wants its log says so in Dask's configuration.
    if dask.config.get("logging", None) is None:
        dask.config.set(logging=dict.fromkeys(_LOGS, "critical"))
    import distributed  # noqa: F401

    dask.config.set(_SETTINGS)
    warnings.filterwarnings("ignore", module="distributed")


def check_worker_name(name: str) -> str:
    """Check and return the name of a machine. Raises `InvalidInput` for one that no folder can have."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"'{name}' is no name for a machine", "letters, digits, dots, - and _: --name db-spare")
    return name


async def serve_scheduler(address: ClusterAddress, *, dashboard: bool, say: Callable[[str], None]) -> None:
    """Serve until a signal. Raises `LabError`, as when a network reaches the port and there are no certificates."""
    prepare()
    import dask
    from distributed import Scheduler

    if dashboard:
        from distributed.dashboard.scheduler import applications

        # That page makes every worker write 2G to its disk whenever somebody opens it.
        applications.pop("/hardware", None)
        dask.config.set({"distributed.scheduler.http.routes": _PAGES})

    scheduler: Any = Scheduler(
        host=address.host.strip("[]"),
        port=address.port,
        protocol=PROTOCOL,
        security=security("scheduler", address),
        dashboard=dashboard,
        dashboard_address=f"127.0.0.1:{8787 if dashboard else 0}",
    )
    try:
        await scheduler
    except OSError as error:
        raise LabError(
            f"{address} cannot be listened on ({error.strerror or error})", "choose another --port"
        ) from error
    say(f"scheduler at {address}: 'redolab worker {address}' joins it, CLUSTER={address} runs on it")
    if dashboard:
        page = f"http://localhost:{scheduler.http_server.port}/status"
        say(f"dashboard at {page}: every account of this machine can open it; many open pages slow the scheduler down")
    await _ended_by_signal(scheduler)
    await scheduler.close(reason="ended by its user")


async def join(address: ClusterAddress, name: str, say: Callable[[str], None]) -> None:
    """Measure for a cluster until a signal ends it or its scheduler is gone. Raises `LabError`."""
    prepare()
    check_worker_name(name)
    claim_lab_folder(PROJECT.lab)
    from distributed import Worker
    from distributed.utils import get_ip, get_ipv6

    scratch = PROJECT.lab / _SCRATCH
    files.make_folder(scratch)
    # A worker listens on this machine's address on the way to the scheduler, and nowhere else.
    own_address = get_ipv6 if ":" in address.host else get_ip
    worker: Any = Worker(
        str(address),
        name=name,
        nthreads=1,
        resources={MACHINE: 1},
        # A machine is measured without a limit of Dask's on its memory.
        memory_limit=0,
        host=own_address(address.host.strip("[]"), address.port),
        protocol=PROTOCOL,
        security=security("worker", address),
        local_directory=str(scratch),
        dashboard_address="127.0.0.1:0",
        death_timeout="15s",
    )
    try:
        await worker
    except Exception as error:
        why = reasons(error)
        if "name taken" in why:
            taken = f"a machine called {name} has joined {address} already"
            raise InvalidInput(taken, "choose another --name") from error
        remedy = f"is 'redolab scheduler' running there? {WHOSE}"
        raise LabError(f"{address} cannot be joined ({why})", remedy) from error
    say(f"{name} has joined {address}: it measures for whoever asks there, until Ctrl-C")
    if not await _ended_by_signal(worker):
        raise LabError(f"the scheduler at {address} is gone", f"start it, then 'redolab worker {address}' again")
    await worker.close(timeout=_TO_CLEAN_UP, reason="ended by its user")


async def _ended_by_signal(server: Any) -> bool:
    """Wait until somebody ends this process, or the server ends; return whether it was the former."""
    ended = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(each, ended.set)
    waiting = [asyncio.create_task(server.finished()), asyncio.create_task(ended.wait())]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    return ended.is_set()
