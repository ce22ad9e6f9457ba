"""The two that a cluster is made of: Dask's scheduler, and a worker for each machine. Neither is open to a network without TLS."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from typing import Any

from redolab.cluster.address import ClusterAddress, check_worker_name, is_loopback
from redolab.cluster.dask import MACHINE, has_certificates, prepare, reasons, security
from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.project import PROJECT

_SCRATCH = "cluster/dask"
_DASHBOARD = 8787
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TO_CLEAN_UP = 90.0
"""Seconds that a worker has to end what it is doing in order."""


def serve_scheduler(host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until a signal ends it; with TLS where Dask's configuration has certificates. Raises `InvalidInput` for an open port."""
    prepare()
    encrypted = has_certificates("scheduler")
    if not encrypted and not is_loopback(host):
        # Says what is missing.
        security("scheduler", encrypted=True)
    asyncio.run(_serve_scheduler(host, port, encrypted, say))


async def _serve_scheduler(host: str, port: int, encrypted: bool, say: Callable[[str], None]) -> None:
    from distributed import Scheduler

    bare = host.strip("[]")
    address = ClusterAddress(f"[{bare}]" if ":" in bare else bare, port, encrypted)
    scheduler = Scheduler(
        host=bare,
        port=port,
        protocol=address.protocol,
        security=security("scheduler", encrypted=encrypted),
        # Whoever sees the dashboard sees every name and line: it stays on this machine, and ssh -L brings it elsewhere.
        dashboard_address=f"127.0.0.1:{_DASHBOARD}",
    )
    try:
        await scheduler
    except OSError as error:
        raise LabError(
            f"{address} cannot be listened on ({error.strerror or error})", "choose another --port"
        ) from error
    server: Any = scheduler.http_server
    say(f"scheduler at {address}: 'redolab worker {address}' joins it, CLUSTER={address} runs on it")
    say(f"dashboard at http://127.0.0.1:{server.port}/status, on this machine alone")
    ended = _on_signals()
    await asyncio.wait([asyncio.create_task(scheduler.finished()), ended], return_when=asyncio.FIRST_COMPLETED)
    await scheduler.close(reason="ended by its user")


def join(address: ClusterAddress, name: str | None, say: Callable[[str], None]) -> None:
    """Measure for a cluster until a signal ends it or its scheduler is gone. Raises `LabError`."""
    prepare()
    called = check_worker_name(name or socket.gethostname())
    asyncio.run(_join(address, called, say))


async def _join(address: ClusterAddress, name: str, say: Callable[[str], None]) -> None:
    from distributed import Worker

    certificates = security("worker", encrypted=address.encrypted)
    scratch = PROJECT.lab / _SCRATCH
    files.make_folder(scratch)
    worker = Worker(
        str(address),
        name=name,
        nthreads=1,
        resources={MACHINE: 1},
        # A machine is measured without a limit of Dask's on its memory.
        memory_limit=0,
        host=_own_address(address),
        protocol=address.protocol,
        security=certificates,
        # Its page has the log and the system's figures: for this machine alone.
        dashboard_address="127.0.0.1:0",
        local_directory=str(scratch),
        death_timeout="15s",
    )
    try:
        await worker
    except Exception as error:
        raise _not_joined(address, name, error) from error
    say(f"{name} has joined {address}: it measures for whoever asks there, until Ctrl-C")
    ended = _on_signals()
    finished = asyncio.create_task(worker.finished())
    await asyncio.wait([finished, ended], return_when=asyncio.FIRST_COMPLETED)
    if ended.done():
        await worker.close(timeout=_TO_CLEAN_UP, reason="ended by its user")
        return
    raise LabError(f"the scheduler at {address} is gone", f"start it, then 'redolab worker {address}' again")


def _own_address(address: ClusterAddress) -> str:
    """This machine's on the way to the scheduler: a worker listens nowhere else. Raises `LabError`."""
    try:
        for family, kind, protocol, _, to in socket.getaddrinfo(
            address.host.strip("[]"), address.port, type=socket.SOCK_DGRAM
        ):
            with socket.socket(family, kind, protocol) as asking:
                asking.connect(to)
                return str(asking.getsockname()[0])
    except OSError as error:
        raise _not_joined(address, "", error) from error
    raise _not_joined(address, "", OSError("it has no address"))


def _not_joined(address: ClusterAddress, name: str, error: Exception) -> LabError:
    causes = reasons(error)
    if any("name taken" in each for each in causes):
        return InvalidInput(f"a machine called {name} has joined {address} already", "choose another --name")
    return LabError(
        f"{address} cannot be joined ({causes[-1]})",
        "is 'redolab scheduler' running there, and are its certificates and ours of one CA?",
    )


def _on_signals() -> asyncio.Future[None]:
    """Done when somebody ends this process."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    for each in _ENDS:
        loop.add_signal_handler(each, end)
    return ended
