"""Effect of a rotation of the slow query log on clients.

    .venv/bin/python -m benchmarks.rotation [SERVER…]

sysbench sends 10,000 point selects a second, all of them logged. Windows of equal length follow each other. Every
second one contains a rotation, started as the configuration for logrotate starts it. For each window sysbench reports
the longest time from a statement's due time to its answer.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from redolab.lab import open_lab
from redolab.progress import Progress
from redolab.runs.store import RunStore
from tests.slowlog.servers import users_server

_RATE = 10_000
_CLIENTS = 8
_STRETCH = 6
_PAIRS = 10
_WAIT = 1.5
_ROWS = 10_000
_REPORT = re.compile(r"\[ (\d+)s \].* qps: ([\d.]+).*lat \(ms,100%\): ([\d.]+)")
_LOGGED = {"slow_query_log": "1", "long_query_time": "0"}


def measure(name: str, folder: Path) -> None:
    """Print the pauses of one server."""
    quiet = Progress(Console(quiet=True))
    with open_lab(quiet, RunStore().clear_unfinished) as lab, users_server(lab.server(name), folder, _LOGGED) as server:
        server.do("CREATE DATABASE sbtest")
        common = ["sysbench", "oltp_point_select", f"--mysql-socket={server.socket}", "--mysql-user=root"]
        common += [f"--table-size={_ROWS}", f"--threads={_CLIENTS}", "--db-ps-mode=disable"]
        subprocess.run([*common, "prepare"], check=True, stdout=subprocess.DEVNULL)
        seconds = _STRETCH * (2 * _PAIRS + 2)
        load = subprocess.Popen(
            [
                *common,
                f"--rate={_RATE}",
                f"--time={seconds}",
                f"--report-interval={_STRETCH}",
                "--percentile=100",
                "run",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert load.stdout is not None
        command = [
            "setsid",
            "--wait",
            sys.executable,
            "-m",
            "redolab",
            "slowlog",
            "rotate",
            *server.arguments,
            "--wait",
            f"{_WAIT}s",
        ]
        rotations: list[subprocess.Popen[bytes]] = []
        longest: list[float] = []
        rates: list[float] = []
        for line in load.stdout:
            found = _REPORT.search(line)
            if found is None:
                continue
            rates.append(float(found[2]))
            longest.append(float(found[3]))
            # The stretch that begins now is the one of this index; the first is not counted.
            if len(longest) % 2 == 0 and len(longest) < 2 * _PAIRS + 1:
                rotations.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        load.wait()
        assert [each.wait() for each in rotations] == [0] * _PAIRS
        with_rotation = longest[2 : 2 * _PAIRS + 1 : 2]
        without = longest[1 : 2 * _PAIRS : 2]
        more = [one - other for one, other in zip(with_rotation, without, strict=True)]
        print(
            f"{name:14} {len(more)} pairs of {_STRETCH} s at {statistics.median(rates):,.0f} queries a second: longest pause "
            f"with rotation {statistics.median(with_rotation):.1f} ms ({min(with_rotation):.1f}–{max(with_rotation):.1f}), "
            f"without {statistics.median(without):.1f} ms ({min(without):.1f}–{max(without):.1f}); "
            f"more, median of pairs: {statistics.median(more):+.1f} ms"
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for each in sys.argv[1:] or ["mysql-9", "mariadb-11.8", "mysql-5.7", "mariadb-10.2"]:
            measure(each, Path(made) / each)
