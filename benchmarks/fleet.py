"""Cost of `redolab fleet` for itself and for a real Prometheus, with 10, 100 and 1,000 synthetic servers and 30 days.

.venv/bin/python -m benchmarks.fleet [FOLDER]

FOLDER keeps the blocks (0.6 GB) for the next time; without it they are made, in about half an hour, and removed.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil

from benchmarks.synthetic_fleet import SyntheticServer, write_blocks
from tests.watch.monitoring.running import prometheus, unpacked

_END = 1_795_820_000
_DAYS = 30
_SERVERS = 1000
_SLICES = {10: "10", 100: "10|100", 1000: "10|100|1000"}
"""Servers → the labels that choose them."""
_PORT = 19440
_MIB = 1 << 20


def main() -> None:
    """Measure and print."""
    if len(sys.argv) > 1:
        _measure(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        _measure(Path(folder))


def _measure(folder: Path) -> None:
    data = folder / "data"
    if not data.exists():
        data.mkdir(parents=True)
        servers = [SyntheticServer(number) for number in range(_SERVERS)]
        write_blocks(unpacked("promtool"), data, servers, _END - _DAYS * 86400, _END)
    with prometheus(folder, _PORT) as url:
        (serving,) = [each for each in psutil.Process().children() if each.name() == "prometheus"]
        for count, slices in _SLICES.items():
            before, began = _cpu(serving), time.monotonic()
            used = _fleet(url, slices, folder / "fleet.csv")
            seconds = time.monotonic() - began
            answered = len((folder / "fleet.csv").read_text().splitlines()) - 1
            print(
                f"{count:>5} servers, {answered} answered: {seconds:.1f} s; redolab {used.ru_utime + used.ru_stime:.1f} s of a CPU, "
                f"{used.ru_maxrss / 1024:.0f} MiB at most; Prometheus {_cpu(serving) - before:.1f} s of a CPU, "
                f"{serving.memory_info().rss / _MIB:.0f} MiB afterwards",
                flush=True,
            )


def _fleet(url: str, slices: str, output: Path) -> resource.struct_rusage:
    """Run the command to its end. Return its resource use."""
    end = datetime.fromtimestamp(_END, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    command = [
        sys.executable,
        "-m",
        "redolab",
        "fleet",
        "--prometheus",
        url,
        "--match",
        f'slice=~"{slices}"',
        "--end",
        end,
    ]
    child = os.posix_spawn(
        sys.executable,
        [*command, "--rto", "5m", "-o", str(output)],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(child, 0)
    assert status == 0
    return used


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
