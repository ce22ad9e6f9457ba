"""What all tests share: a lab of their own beside the clone's, and real servers in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.beside import folder_of_tests

# Before anything asks for it: tests never touch the lab and the runs of whoever runs them. Kept between sessions, so that
# servers are fetched once.
os.environ["REDOLAB_LAB"] = str(folder_of_tests() / "lab")
os.environ["REDOLAB_SERVERS"] = str(folder_of_tests() / "servers.json")
os.environ["REDOLAB_MACHINES"] = str(folder_of_tests() / "machines.json")
os.environ["REDOLAB_RUNS"] = str(folder_of_tests() / "runs")
os.environ["XDG_CONFIG_HOME"] = str(folder_of_tests() / "config")

from rich.console import Console

from redolab.lab import Lab, native_folder, open_lab
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.install import InstalledServer

# An example that takes long says that the machine is slow, not that the code is wrong.
settings.register_profile("redolab", deadline=None)
settings.load_profile("redolab")


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An open lab on this machine."""
    with open_lab(Progress(Console(quiet=True)), RunStore().clear_unfinished) as opened:
        yield opened


@pytest.fixture
def home(lab: Lab) -> Path:
    """The folder of the local storage."""
    return native_folder(lab.folder)


@pytest.fixture
def mariadb(lab: Lab) -> InstalledServer:
    """The default server, unpacked."""
    return lab.server("mariadb-10.11")
