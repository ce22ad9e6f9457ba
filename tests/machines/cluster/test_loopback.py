"""A cluster on one machine without certificates of anybody's: it works for its own account, and no other has anything run."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from redolab.errors import LabError
from redolab.machines.cluster.dask import Role, parse_cluster, security
from redolab.project import PROJECT
from redolab.units import MIB
from tests.command import read_until, redolab_running

pytestmark = pytest.mark.slow

_DASHBOARD = "DASK_DISTRIBUTED__SCHEDULER__DASHBOARD__BOKEH_APPLICATION__"
_WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@dataclass(frozen=True)
class Loopback:
    """A scheduler and its workers."""

    folder: Path
    port: int
    scheduler: subprocess.Popen[str]
    workers: list[subprocess.Popen[str]]
    said: str

    @property
    def address(self) -> str:
        """What a person types."""
        return f"tls://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def there(folder: Path) -> Iterator[Loopback]:
    """A scheduler as it is started without a word more, and two workers."""
    with _cluster(folder, "one", "two") as started:
        yield started


@contextmanager
def _cluster(folder: Path, *names: str, dashboard: bool = False) -> Iterator[Loopback]:
    port = _free_port()
    with ExitStack() as held:
        asked = ("scheduler", "--port", str(port), *(["--dashboard"] if dashboard else []))
        scheduler = held.enter_context(redolab_running(*asked, environment=_environment(folder, "control")))
        said = read_until(scheduler, "dashboard at" if dashboard else "scheduler at")
        workers = []
        for name in names:
            joining = ("worker", f"tls://127.0.0.1:{port}", "--name", name)
            worker = held.enter_context(redolab_running(*joining, environment=_environment(folder, name)))
            read_until(worker, f"{name} has joined tls://127.0.0.1:{port}")
            workers.append(worker)
        yield Loopback(folder, port, scheduler, workers, said)


def _environment(folder: Path, name: str) -> Mapping[str, str]:
    # Dask's own configuration of whoever runs the tests may name certificates.
    return {
        "DASK_CONFIG": str(folder / "dask"),
        # A page that nobody looks at is forgotten after a second: else all of them at once keep a scheduler busy.
        f"{_DASHBOARD}UNUSED_SESSION_LIFETIME_MILLISECONDS": "1000",
        "PYTHONUNBUFFERED": "1",
        "REDOLAB_EXPERIMENTS": str(PROJECT.root / "tests/toy"),
        "REDOLAB_LAB": str(folder / name),
        "REDOLAB_RUNS": str(folder / "runs"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }


def _free_port() -> int:
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])


def _listening(process: subprocess.Popen[str]) -> list[tuple[str, int]]:
    """All on which a process and its children can be reached, by TCP or UDP."""
    ours = psutil.Process(process.pid)
    found = [each for one in (ours, *ours.children(recursive=True)) for each in one.net_connections("inet")]
    return [
        (each.laddr.ip, each.laddr.port)
        for each in found
        if each.status == psutil.CONN_LISTEN or each.type == socket.SOCK_DGRAM
    ]


def _http_ports(process: subprocess.Popen[str]) -> list[int]:
    """The ports of a process at which it answers without TLS."""
    found = []
    for _, port in _listening(process):
        with suppress(HTTPException, ConnectionError, TimeoutError):
            _status(port, "/")
            found.append(port)
    return found


def test_all_is_on_loopback_and_without_tls_there_is_no_page(there: Loopback) -> None:
    for each in (there.scheduler, *there.workers):
        listening = _listening(each)
        assert [host for host, _ in listening] == ["127.0.0.1"] * 2
        (port,) = _http_ports(each)
        pages = ("/", "/status", "/health", "/metrics", "/info/main/workers.html", "/api/v1/get_workers")
        assert {_status(port, page) for page in pages} == {404}
    assert there.said.count("\n") == 1
    _dice(there)


def _dice(there: Loopback) -> None:
    """A run of one group, which one of the workers measures; who asks for it listens on nothing."""
    asked = ("run", "dice", "--seed", "5", "--beside-others", "--pause-ms", "100", "--cluster", there.address)
    with redolab_running(*asked, environment=_environment(there.folder, "control")) as client:
        said = read_until(client, "check cell")
        assert _listening(client) == []
        assert client.stdout is not None
        said += client.stdout.read()
        assert client.wait(60) == 0, said


@pytest.mark.parametrize("opened", ["", "loopback.pem"])
def test_a_certificate_that_another_account_could_have_is_refused(
    opened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("DASK_CONFIG", str(tmp_path))
    address = parse_cluster("tls://127.0.0.1")
    made: Any = security("scheduler", address)
    ours: Any = security("client", address)
    assert ours.tls_client_cert == made.tls_scheduler_cert
    (tmp_path / "redolab/cluster" / opened).chmod(0o755)
    with pytest.raises(LabError):
        security("worker", address)


def test_a_scheduler_renews_one_that_is_not_good_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    address = parse_cluster("tls://127.0.0.1")

    def ours(role: Role) -> str:
        return str(cast(Any, security(role, address)).tls_ca_file)

    made, held = ours("scheduler"), tmp_path / "redolab/cluster/loopback.pem"
    long_ago = held.stat().st_mtime - 301 * 86400
    os.utime(held, (long_ago, long_ago))
    assert ours("worker") == made
    assert ours("scheduler") != made


@pytest.mark.thorough
def test_a_page_of_the_dashboard_has_no_machine_do_anything(folder: Path) -> None:
    from distributed.dashboard.scheduler import applications

    with _cluster(folder, "three", dashboard=True) as there:
        (port,) = _http_ports(there.scheduler)
        assert f"http://localhost:{port}/status" in there.said
        worker = psutil.Process(there.workers[0].pid)
        before = worker.io_counters().write_chars
        # Of those that are a single plot of another page each, there are thirty.
        pages = [page for page in applications if not page.startswith("/individual-")]
        for page in [*pages, "/info/main/workers.html", "/json/identity.json", "/health"]:
            wanted = 404 if page == "/hardware" else 200
            assert _status(port, page) == wanted, page
        assert _status(port, "/api/v1/get_workers") == 404
        assert _status(port, f"/proxy/{there.port}/127.0.0.1/status") == 404
        # What another page asks that is open in the browser of somebody here.
        assert _status(port, "/status/ws", origin="http://page.example") == 403
        assert _status(port, "/status/ws", origin=f"http://localhost:{port}") == 101
        # Whatever a page had asked of the worker is done before a group is. A benchmark of its disk would write 2G.
        _dice(there)
        assert worker.io_counters().write_chars - before < MIB


def _status(port: int, page: str, origin: str = "") -> int:
    """How a page answers; a websocket, where it is asked by a page of that origin."""
    headers = {**_WEBSOCKET, "Origin": origin} if origin else {}
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", page, headers=headers)
        return connection.getresponse().status
