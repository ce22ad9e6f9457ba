"""Speed of `redolab timeline` on logs with nothing but recoveries, as a server in a crash loop writes them.

Each log repeats a recovery of tests/logs/real, ten minutes later each time. In a crash loop the redo is the same each
time, and so are the texts. In the worst case every LSN differs, and hardly a text occurs twice.

.venv/bin/python -m benchmarks.crash_loop
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

from redolab.project import PROJECT
from redolab.units import MIB

_REDOLAB = Path(sys.executable).with_name("redolab")
_REAL = PROJECT.root / "tests/logs/real"
_SERVERS = ("mariadb-10.11", "mysql-5.7", "mysql-8.0", "mysql-9")
_VARIANTS = ("recovery-crash", "small-pool")
_LOG_SIZE = 100_000_000
_RUNS = 3
_MINUTE = re.compile(rb"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?=:\d\d)")
# Nine digits: the length of an LSN, and of no time, process id or size.
_LSN = re.compile(rb"(?<![\d.])\d{9}(?![\d.])")
_RECOVERY = b'"seconds_to_ready"'
_APART = timedelta(minutes=10)


def main() -> None:
    """Measure and print."""
    print(f"redolab timeline --json on {_LOG_SIZE / 1e6:.0f} MB, median of {_RUNS}")
    with tempfile.TemporaryDirectory(dir=PROJECT.root) as folder:
        log = Path(folder) / "error.log"
        for server in _SERVERS:
            for variant in _VARIANTS:
                lines = (_REAL / f"{server}-{variant}.log").read_bytes()
                same, recoveries, memory = _measure(log, lines, other_lsns=False)
                other, _, _ = _measure(log, lines, other_lsns=True)
                print(
                    f"{server:<14}{variant:<15} {same:5.1f} MB/s {recoveries:7,} recoveries {memory / MIB:5.0f} MiB of memory"
                    f"; every LSN another one: {other:5.1f} MB/s"
                )


def _measure(log: Path, lines: bytes, other_lsns: bool) -> tuple[float, int, int]:
    """Return the megabytes a second, the recoveries found, and the largest memory in bytes."""
    _write_log(log, lines, other_lsns)
    runs = [_run(log) for _ in range(_RUNS)]
    megabytes = log.stat().st_size / 1e6
    return megabytes / statistics.median(run[0] for run in runs), runs[0][1], max(run[2] for run in runs)


def _write_log(log: Path, lines: bytes, other_lsns: bool) -> None:
    lines = lines.rstrip(b"\n") + b"\n"
    with log.open("wb") as file:
        number = 0
        while file.tell() < _LOG_SIZE:
            file.write(_again(lines, number, other_lsns))
            number += 1


def _again(lines: bytes, number: int, other_lsns: bool) -> bytes:
    """Return the lines as a crash loop writes them the `number`th time."""

    def later(found: re.Match[bytes]) -> bytes:
        moment = datetime.fromisoformat(found[0].decode()) + number * _APART
        return moment.isoformat(found[0][10:11].decode(), "minutes").encode()

    lines = _MINUTE.sub(later, lines)
    return _LSN.sub(lambda found: b"%d" % (int(found[0]) + number), lines) if other_lsns else lines


def _run(log: Path) -> tuple[float, int, int]:
    """Run `redolab timeline`. Return its seconds, the recoveries found, and the largest memory in bytes."""
    began = time.monotonic()
    with subprocess.Popen([_REDOLAB, "timeline", "--json", log], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        recoveries, rest = 0, b""
        # The whole is one line, and what this process holds in memory would be counted as the child's.
        while piece := process.stdout.read(1 << 16):
            recoveries += (rest + piece).count(_RECOVERY)
            rest = piece[1 - len(_RECOVERY) :]
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.monotonic() - began, recoveries, usage.ru_maxrss * 1024


if __name__ == "__main__":
    main()
