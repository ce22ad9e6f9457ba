"""Cost of a scrape of `redolab export` for a server at rest: time, statements.

.venv/bin/python -m benchmarks.scrape
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from benchmarks.instances import bench_lab
from redolab.lab import Lab
from redolab.servers.address import Address
from redolab.servers.dialects import SOCKET, InstanceRequest, Purpose
from redolab.servers.initialise import initialise
from redolab.servers.instance import Instance
from redolab.units import MIB
from redolab.watch.metrics import ServerCollector
from redolab.watch.watched import ServerToCome, WatchedServer

_SERVERS = ("mariadb-11.8", "mysql-9")
_SCRAPES = 200
_REQUEST = InstanceRequest(purpose=Purpose.RECOVER, log_size=64 * MIB, buffer_pool=64 * MIB)


def main() -> None:
    """Measure and print."""
    with bench_lab() as lab:
        for name in _SERVERS:
            with tempfile.TemporaryDirectory(dir=lab.folder) as folder:
                took, statements = _measured(lab, name, Path(folder) / "i")
            print(
                f"{name:<14} a scrape: median {statistics.median(took) * 1000:.1f} ms, 95 % "
                f"{sorted(took)[int(0.95 * len(took))] * 1000:.1f} ms of {len(took)}; {statements:.0f} statement"
            )


def _measured(lab: Lab, name: str, folder: Path) -> tuple[list[float], float]:
    """Return the seconds of each scrape, and the statements that the server counted for each."""
    server = lab.server(name)
    initialise(server, folder, _REQUEST)
    with Instance.start(server, folder, _REQUEST, folder / "error.log") as instance:
        instance.wait_ready(60)
        registry = CollectorRegistry(auto_describe=False)
        address = Address(socket=str(folder / SOCKET), user="root")
        watched = ServerToCome(lambda: WatchedServer(address, "local", None))
        watched.look()
        registry.register(ServerCollector(watched))
        before, took = _questions(instance), []
        for _ in range(_SCRAPES):
            began = time.perf_counter()
            generate_latest(registry)
            took.append(time.perf_counter() - began)
        # To connect and to ask for the count are statements too: as many as two counts in a row differ by.
        asked = _questions(instance) - before
        asked -= _questions(instance) - (before + asked)
        watched.close()
    return took, asked / _SCRAPES


def _questions(instance: Instance) -> float:
    with instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Questions'")
        row = cursor.fetchone()
    assert row is not None
    return float(row[1])


if __name__ == "__main__":
    main()
