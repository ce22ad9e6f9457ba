"""Commands that refuse say why in one line and start nothing, in the words of `refused.txt`.

.venv/bin/python -m tests.commands.test_refused

writes the words anew: read the difference before committing it.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import redolab, run_names

REFUSED = Path(__file__).with_name("refused.txt")
"""Under each command its exit status and what it says, in which `…` stands for what differs between machines."""


def _commands() -> Iterator[tuple[str, str]]:
    """Yield each command with what it says."""
    for entry in REFUSED.read_text().split("\n\n"):
        command, _, said = entry.strip().partition("\n")
        yield command, said.strip()


def _run(command: str) -> subprocess.CompletedProcess[str]:
    return redolab(*shlex.split(command)[1:], environment={"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"})


# Dask tries for ten seconds to reach a scheduler that is not there.
_CASES = [pytest.param(*case, marks=pytest.mark.slow if "tls://" in case[0] else ()) for case in _commands()]


@pytest.mark.parametrize(("command", "said"), _CASES)
def test_a_command_that_is_refused_says_why_in_one_line_and_starts_nothing(command: str, said: str) -> None:
    runs = run_names()
    done = _run(command)
    # No result: at most what it was at when it was refused.
    assert all(line.startswith(("…", " ")) for line in done.stdout.splitlines())
    assert re.fullmatch(re.escape(said).replace("…", ".*"), f"{done.returncode} {done.stderr.rstrip()}")
    assert run_names() == runs


def _anew() -> Iterator[str]:
    for command, before in _commands():
        done = _run(command)
        said = f"{done.returncode} {done.stderr.rstrip()}"
        is_as_before = re.fullmatch(re.escape(before).replace("…", ".*"), said)
        yield f"{command}\n    {before if is_as_before else said}"


if __name__ == "__main__":
    REFUSED.write_text("\n\n".join(_anew()) + "\n")
