"""Captures that are stopped at their steps; what the server's variables are afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.slowlog.servers import UsersServer

_BACK = 20.0


def captured_until(server: UsersServer, step: int, number: signal.Signals, state: Path) -> str | None:
    """Run a capture, and end it at its n-th step (from 0); what that was. None if it came to its end before."""
    environment = os.environ | {"XDG_STATE_HOME": str(state)}
    command = [sys.executable, "-m", "redolab", "slowlog", "capture", *server.arguments, "-s", "1", "-v"]
    command += ["--min-free", "1%"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, start_new_session=True
    ) as process:
        assert process.stdout is not None
        for seen, line in enumerate(process.stdout):
            if seen == step:
                process.send_signal(number)
                return line.strip()
    assert process.returncode == 0, f"the capture ended by itself with {process.returncode}"
    return None


def wait_until_put_back(state: Path) -> bool:
    """Whether the notes are gone in time."""
    deadline = time.monotonic() + _BACK
    while list(state.glob("redolab/slowlog/*.json")):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def killed_at_every_step(
    server: UsersServer, number: signal.Signals, state: Path, every: int = 1
) -> tuple[list[str], list[str]]:
    """The steps at which captures were ended, and what was different after one."""
    before = server.variables()
    steps: list[str] = []
    different: list[str] = []
    step = 0
    while (said := captured_until(server, step, number, state)) is not None:
        steps.append(said)
        if not wait_until_put_back(state):
            different.append(f"after {said!r}: a note is still there")
        now = server.variables()
        different += [
            f"after {said!r}: {name} is {now.get(name)!r}, was {value!r}"
            for name, value in before.items()
            if now.get(name) != value
        ]
        step += every
    return steps, different
