"""Running the command line as a person does, and looking at what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

import psutil

from redolab.project import PROJECT

SMALL = (
    *("--log-size", "64M", "--dataset", "32M", "--open-transaction", "5000"),
    *("--pool", "64M", "--check-disks", "off"),
)
"""A crash that takes seconds."""


def redolab(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`redolab ARGUMENTS` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "redolab", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        cwd=PROJECT.root,
        env={**os.environ, **(environment or {})},
    )


def signal_at(marker: str, with_signal: signal.Signals, arguments: Sequence[str]) -> tuple[int, str]:
    """Start `redolab ARGUMENTS`, signal it when it prints `marker`; its exit status and all that it printed."""
    command = [sys.executable, "-m", "redolab", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=PROJECT.root
    ) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if marker in line:
                process.send_signal(with_signal)
                break
        said.extend(process.stdout)
        return process.wait(60), "".join(said)


def lab_processes() -> list[str]:
    """The command lines of all processes that work in the tests' lab: none may be left when no lab runs."""
    found = []
    for process in psutil.process_iter(["cmdline", "pid"]):
        words = process.info["cmdline"] or []
        if process.pid != os.getpid() and any(str(PROJECT.lab) in word for word in words):
            found.append(" ".join(words))
    return found
