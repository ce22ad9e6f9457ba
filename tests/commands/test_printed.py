"""Commands print what their files in `printed/` have; the first line of each is the command.

.venv/bin/python -m tests.commands.test_printed

writes the files anew: read the difference before committing it.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.command import redolab

PRINTED = sorted((Path(__file__).parent / "printed").glob("*.txt"))


def _again(file: Path) -> str:
    command, *_ = file.read_text().splitlines()
    done = redolab(*shlex.split(command.removeprefix("$ redolab ")))
    return f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("file", PRINTED, ids=lambda file: file.stem)
def test_a_command_prints_what_its_file_has(file: Path) -> None:
    assert _again(file) == file.read_text()


if __name__ == "__main__":
    for each in PRINTED:
        each.write_text(_again(each))
