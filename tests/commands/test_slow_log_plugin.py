"""A plugin that is put into the folder of a user's own server."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from redolab.commands.upkeep.slow_log_plugin import put_slow_log_plugin
from redolab.errors import InvalidInput
from redolab.progress import Progress

MODULE = "redolab.commands.upkeep.slow_log_plugin"


def test_a_plugin_takes_the_place_of_one_that_a_server_has_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, folder = tmp_path / "slow.so", tmp_path / "plugins"
    built.write_bytes(b"new")
    folder.mkdir()
    lab = SimpleNamespace(server=lambda name: SimpleNamespace(name=name, version="11.8.3"))
    monkeypatch.setattr(f"{MODULE}.open_lab", lambda *_: nullcontext(lab))
    monkeypatch.setattr(f"{MODULE}.built_slow_log_plugin", lambda *_: built)
    there, progress = folder / "slow.so", Progress(Console(quiet=True))
    there.write_bytes(b"old")
    umask = os.umask(0o077)
    try:
        with there.open("rb") as opened:
            said = put_slow_log_plugin(progress, "mariadb-11.8", folder)
            assert opened.read() == b"old"
    finally:
        os.umask(umask)
    assert "INSTALL SONAME 'slow'" in said
    assert (there.read_bytes(), there.stat().st_mode & 0o777) == (b"new", 0o644)
    assert list(folder.iterdir()) == [there]
    there.unlink()
    there.mkdir()
    with pytest.raises(InvalidInput):
        put_slow_log_plugin(progress, "mariadb-11.8", folder)
    assert list(folder.iterdir()) == [there]
