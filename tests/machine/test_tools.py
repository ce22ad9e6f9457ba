"""The programs beside Python: what the lab says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.machine.clean_up_journal import Journal
from redolab.machine.tools import Tools

MAVEN = b"\x1b[1mApache Maven 3.8.7\x1b[m\nMaven home: /usr/share/maven\n"
"""Output of Debian's Maven, also into a pipe."""


def test_a_version_has_no_colours_and_control_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mvn"
    (tmp_path / "said").write_bytes(b"\x07" + MAVEN)
    program.write_text(f'#!/bin/sh\nexec cat "{tmp_path}/said"\n')
    program.chmod(0o755)
    monkeypatch.setattr("redolab.machine.processes.which", {"mvn": program, str(program): program}.get)
    versions = Tools(tmp_path / "tools", Journal(tmp_path / "journal")).versions()
    assert versions == {"mvn": "Apache Maven 3.8.7"}
