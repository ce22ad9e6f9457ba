"""Cost of `redolab follow`: CPU time for a look, for its redo log files, and for the time left.

.venv/bin/python -m benchmarks.follow
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.instances import bench_lab
from redolab.lab import Lab
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.initialise import initialise
from redolab.servers.instance import Instance
from redolab.units import GIB, MIB
from redolab.watch.following.follow import EVERY, experience
from redolab.watch.following.server_process import ServerProcess
from redolab.watch.following.time_left import Done, Way, time_left

_SERVERS = ("mysql-5.7", "mysql-9", "mariadb-10.11", "mariadb-11.8")
_LOOKS = 100
_REQUEST = InstanceRequest(purpose=Purpose.RECOVER, log_size=256 * MIB, buffer_pool=4 * GIB)


def main() -> None:
    """Measure and print."""
    with bench_lab() as lab:
        for name in _SERVERS:
            with tempfile.TemporaryDirectory(dir=lab.folder) as folder:
                look, files = _measured(lab, name, Path(folder) / "i")
            print(
                f"{name:<14} a look {look * 1000:.1f} ms, {look / EVERY:.1%} of a core; redo log files {files * 1000:.1f} ms"
            )
    known = experience()
    courses = known.courses_of("MySQL 9")
    done = Done(elapsed=20.0, total=2.0 * GIB, read=1.0 * GIB, reading_s=18.0)
    widening = known.widening_of(Way.PROCESS, "MySQL 9")
    took = _seconds(lambda: time_left(done, courses, widening))
    print(f"time left by {len(courses)} recoveries {took * 1000:.1f} ms")


def _measured(lab: Lab, name: str, folder: Path) -> tuple[float, float]:
    """Return the CPU seconds of a look, and of reading where the redo begins and ends."""
    server = lab.server(name)
    initialise(server, folder, _REQUEST)
    with Instance.start(server, folder, _REQUEST, folder / "error.log") as instance:
        instance.wait_ready(60)
        process = ServerProcess(instance.pid)
        return _seconds(lambda: process.look(time.monotonic())), _seconds(process.redo)


def _seconds(what: Callable[[], object]) -> float:
    """Return the CPU seconds of a call: the median of many."""
    took = []
    for _ in range(_LOOKS):
        began = time.process_time()
        what()
        took.append(time.process_time() - began)
    return statistics.median(took)


if __name__ == "__main__":
    main()
