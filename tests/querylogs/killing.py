"""Captures that are stopped at each of their steps; what the server's variables are afterwards.

    .venv/bin/python -m tests.querylogs.killing [SERVER…]

writes `killed-captures.json` beside this file: for each server and signal the steps, and the variables that were not as before.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console

from redolab.lab import open_lab
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.catalogue import server_catalogue
from tests.querylogs.servers import CHOSEN, UsersServer, users_server

TABLE = Path(__file__).parent / "killed-captures.json"
_BACK = 20.0
_SOME = 3
"""Of the signals that the command itself sees, every third step."""
_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class KilledCaptures(msgspec.Struct, frozen=True):
    """The captures of one server that were ended by one signal."""

    server: str
    version: str
    settings: str
    """The server's slow log settings before: `default` or `chosen`."""
    signal: str
    steps: int
    """At how many steps, each a capture of its own."""
    different: list[str]
    """What was not as before, and at which step; none is as it should be."""


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


def as_table(rows: Sequence[KilledCaptures]) -> str:
    """These as the table of docs/query-logs.md: a row a server."""
    lines = [
        "| server | version | SIGKILL, default settings | SIGKILL | SIGTERM | SIGINT | SIGHUP | variables not as before |"
    ]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in dict.fromkeys(row.server for row in rows):
        own = [row for row in rows if row.server == name]
        steps = {(row.settings, row.signal): row.steps for row in own}
        cells = [steps[("default", "SIGKILL")], *(steps[("chosen", number.name)] for number in _SIGNALS)]
        different = sum(len(row.different) for row in own)
        lines.append(
            f"| {name} | {own[0].version} | {' | '.join(str(each) for each in cells)} | {different or 'none'} |"
        )
    return "\n".join(lines) + "\n"


def main(wanted: Sequence[str]) -> None:
    """Do so with these servers, or all; the rows of others stay."""
    kept = msgspec.json.decode(TABLE.read_bytes(), type=list[KilledCaptures]) if TABLE.exists() else []
    names = server_catalogue().names()
    with open_lab(Progress(Console()), RunStore().clear_unfinished) as lab, tempfile.TemporaryDirectory() as made:
        for name in wanted or names:
            rows: list[KilledCaptures] = []
            for words, settings in (("default", {}), ("chosen", CHOSEN)):
                with users_server(lab.server(name), Path(made) / f"{name}-{words}", settings) as server:
                    version = server.variables()["version"]
                    for number in _SIGNALS if settings else (signal.SIGKILL,):
                        every = 1 if number is signal.SIGKILL else _SOME
                        steps, different = killed_at_every_step(server, number, Path(made) / "state", every)
                        rows.append(KilledCaptures(name, version, words, number.name, len(steps), different))
                        print(name, words, number.name, len(steps), different or "as before", flush=True)
            kept = [row for row in kept if row.server != name] + rows
    kept.sort(key=lambda row: names.index(row.server))
    TABLE.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    print(as_table(kept))


if __name__ == "__main__":
    main(sys.argv[1:])
