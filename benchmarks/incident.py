"""Start of `redolab-incident.pyz`: seconds to its end on a short log, of a Python without packages.

.venv/bin/python -m benchmarks.incident [PYTHON…]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from redolab.incident.build import build
from redolab.project import PROJECT
from redolab.units import KIB

_LOG = PROJECT.root / "tests/logs/real/mysql-9-plain.log"
_TIMES = 20
_COMMANDS = (("--version",), ("timeline", "-"), ("follow", "-"))


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "redolab-incident.pyz"
        build(packed)
        print(f"{packed.stat().st_size / KIB:.0f} KiB")
        # Without its end the log is of a recovery that is running, and the time left is computed.
        begins = _LOG.read_bytes().partition(b"ready for connections")[0].rpartition(b"\n")[0] + b"\n"
        for python in sys.argv[1:] or ["/usr/bin/python3"]:
            version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
            for command in _COMMANDS:
                took = [_seconds([python, "-I", "-S", str(packed), *command], begins) for _ in range(_TIMES)]
                wall, cpu = (statistics.median(each) for each in zip(*took, strict=True))
                print(f"{version:<14} {' '.join(command):<11} {wall:.2f} s, {cpu:.2f} s of CPU (median of {_TIMES})")


def _seconds(command: list[str], given: bytes) -> tuple[float, float]:
    """Run a command. Return its seconds, and those of a CPU."""
    began, before = time.monotonic(), os.times()
    subprocess.run(command, input=given, capture_output=True, check=False)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - began, cpu


if __name__ == "__main__":
    main()
