"""The programs beside Python: what the lab says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.machine.clean_up_journal import Journal
from redolab.machine.tools import Tools

MAVEN = b"\x1b[1mApache Maven 3.8.7\x1b[m\nMaven home: /usr/share/maven\n"
"""As Debian's Maven says it, also to a pipe."""


@pytest.mark.parametrize(
    "said",
    [
        MAVEN,
        b"\x1bP$q\"p\x1b\\\x1b_Gi=31;AAAA\x1b\\\x1b^private\x1b\\Apache Maven 3.8.7\n",
        "\x9b1mApache Maven 3.8.7\x9bm\x9d0;title\x9c\n".encode(),
        b"Apache Maven 3.8.7\x1b]0;never ended",
    ],
)  # fmt: skip
def test_a_version_has_nothing_in_it_that_is_meant_for_a_terminal(
    said: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "mvn"
    (tmp_path / "said").write_bytes(said)
    program.write_text(f'#!/bin/sh\nexec cat "{tmp_path}/said"\n')
    program.chmod(0o755)
    monkeypatch.setattr("redolab.machine.processes.which", {"mvn": program, str(program): program}.get)
    versions = Tools(tmp_path / "tools", Journal(tmp_path / "journal")).versions()
    assert versions == {"mvn": "Apache Maven 3.8.7"}
