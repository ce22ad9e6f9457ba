"""Time and memory of the command line: `redolab --help`, and `redolab timeline` on an error log of 1 GB.

.venv/bin/python -m benchmarks.command_line
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from redolab.project import PROJECT
from redolab.units import MIB

_REDOLAB = Path(sys.executable).with_name("redolab")
_LOG_SIZE = 1_000_000_000
_RECOVERY = PROJECT.root / "tests/logs/forms/mariadb-10.11.log"
_NOISE = (
    b"2026-11-21  4:38:%02d %d [Warning] Aborted connection %d to db: 'shop' user: 'app' host: '10.0.0.7' "
    b"(Got an error reading communication packets)\n"
)
_RECOVERIES = 30


def main() -> None:
    """Measure and print."""
    help_times = [_measure(["--help"])[0] for _ in range(20)]
    print(f"redolab --help: median {statistics.median(help_times) * 1000:.0f} ms of {len(help_times)}")
    with tempfile.TemporaryDirectory(dir=PROJECT.root) as folder:
        log = Path(folder) / "error.log"
        _write_log(log)
        runs = [_measure(["timeline", "--json", str(log)]) for _ in range(3)]
        seconds, memory, said = min(runs)
        found = said.count(b'"seconds_to_ready"')
        print(
            f"redolab timeline on {log.stat().st_size / 1e9:.2f} GB with {found} recoveries: "
            f"{seconds:.1f} s (slowest of {len(runs)}: {max(runs)[0]:.1f} s), {memory / MIB:.0f} MiB of memory"
        )


def _write_log(log: Path) -> None:
    recovery = _RECOVERY.read_bytes()
    noise = b"".join(_NOISE % (number % 60, number, number) for number in range(10_000))
    with log.open("wb") as file:
        every = _LOG_SIZE // _RECOVERIES
        while file.tell() < _LOG_SIZE:
            if file.tell() // every > (file.tell() - len(noise)) // every:
                file.write(recovery)
            file.write(noise)


def _measure(arguments: list[str]) -> tuple[float, int, bytes]:
    """Run a command. Return its seconds, its largest memory in bytes, and its output."""
    began = time.monotonic()
    with subprocess.Popen([_REDOLAB, *arguments], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.monotonic() - began, usage.ru_maxrss * 1024, said


if __name__ == "__main__":
    main()
