"""The two that a cluster is made of: Dask's scheduler, and a worker for each machine. Neither listens without TLS.

Dask would have both serve pages over HTTP as well, to whoever reaches them. A worker has none; a scheduler has them on
loopback when its user asks for them, without those that have machines do something.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from typing import Any

from redolab.cluster.address import PROTOCOL, ClusterAddress, check_worker_name
from redolab.cluster.dask import MACHINE, WHOSE, prepare, reasons, security
from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.machine.lab_folder import claim_lab_folder
from redolab.project import PROJECT

_SCRATCH = "cluster/dask"
_DASHBOARD = 8787
_PAGES = ("scheduler.info", "scheduler.json", "health", "statics")
"""What a dashboard takes besides. Not `scheduler.api`, which sends workers away, nor `proxy`, which asks other hosts."""
_BENCHMARK = "/hardware"
"""A page that has every worker write 2G to its disk whenever somebody opens it."""
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TO_CLEAN_UP = 90.0
"""Seconds that a worker has to end what it is doing in order."""


def serve_scheduler(host: str, port: int, *, dashboard: bool, say: Callable[[str], None]) -> None:
    """Serve until a signal ends it. Raises `LabError`, as where a network reaches the port and Dask has no certificates."""
    prepare()
    asyncio.run(_serve_scheduler(host, port, dashboard, say))


async def _serve_scheduler(host: str, port: int, dashboard: bool, say: Callable[[str], None]) -> None:
    from distributed import Scheduler

    class QuietScheduler(Scheduler):
        def start_http_server(self, *arguments: Any, **named: Any) -> None:
            if dashboard:
                Scheduler.start_http_server(self, *arguments, **named)
                server: Any = self.http_server
                _only_to_own_pages(server.port)

    bare = host.strip("[]")
    address = ClusterAddress(f"[{bare}]" if ":" in bare else bare, port)
    if dashboard:
        _only_showing()
    scheduler: Scheduler = QuietScheduler(
        host=bare,
        port=port,
        protocol=PROTOCOL,
        security=security("scheduler", address),
        dashboard=dashboard,
        dashboard_address=f"127.0.0.1:{_DASHBOARD}",
    )
    try:
        await scheduler
    except OSError as error:
        raise LabError(
            f"{address} cannot be listened on ({error.strerror or error})", "choose another --port"
        ) from error
    say(f"scheduler at {address}: 'redolab worker {address}' joins it, CLUSTER={address} runs on it")
    if dashboard:
        server: Any = scheduler.http_server
        say(f"dashboard at http://127.0.0.1:{server.port}/status")
        say(
            "warning: every account of this machine can open it, and sees names of runs and machines, Dask's logs and the "
            "code at work; it starts nothing, but many open pages slow the scheduler down"
        )
    ended = _on_signals()
    await asyncio.wait([asyncio.create_task(scheduler.finished()), ended], return_when=asyncio.FIRST_COMPLETED)
    await scheduler.close(reason="ended by its user")


def _only_showing() -> None:
    """Leave out of the dashboard what has machines do something: every account of this machine can ask for it."""
    import dask
    from distributed.dashboard.scheduler import applications

    applications.pop(_BENCHMARK, None)
    dask.config.set({"distributed.scheduler.http.routes": [f"distributed.http.{name}" for name in _PAGES]})


def _only_to_own_pages(port: int) -> None:
    """Have the dashboard turn away what other pages ask that are open in the same browser: Dask would answer all."""
    import dask

    origins = [f"{host}:{port}" for host in ("127.0.0.1", "localhost")]
    dask.config.set({"distributed.scheduler.dashboard.bokeh-application.allow_websocket_origin": origins})


def join(address: ClusterAddress, name: str | None, say: Callable[[str], None]) -> None:
    """Measure for a cluster until a signal ends it or its scheduler is gone. Raises `LabError`."""
    prepare()
    called = check_worker_name(name or socket.gethostname())
    claim_lab_folder(PROJECT.lab)
    asyncio.run(_join(address, called, say))


async def _join(address: ClusterAddress, name: str, say: Callable[[str], None]) -> None:
    from distributed import Worker

    class QuietWorker(Worker):
        def start_http_server(self, *arguments: Any, **named: Any) -> None:
            pass

    certificates = security("worker", address)
    scratch = PROJECT.lab / _SCRATCH
    files.make_folder(scratch)
    worker: Worker = QuietWorker(
        str(address),
        name=name,
        nthreads=1,
        resources={MACHINE: 1},
        # A machine is measured without a limit of Dask's on its memory.
        memory_limit=0,
        host=_own_address(address),
        protocol=PROTOCOL,
        security=certificates,
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
        f"is 'redolab scheduler' running there? {WHOSE}",
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
