"""The Vagrantfile as Vagrant reads it, for both providers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from redolab.lab import Lab
from redolab.machine.processes import is_root
from redolab.project import PROJECT


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vagrant")


@pytest.fixture(autouse=True)
def vagrant(lab: Lab) -> None:
    if shutil.which("vagrant") is None:
        if not is_root():
            pytest.skip("vagrant is not on this machine")
        lab.tools.install(["vagrant", "vagrant-libvirt"], lab.progress)


def _vagrant(home: Path, *words: str, settings: str = "") -> subprocess.CompletedProcess[str]:
    own = home / "settings.local.yaml"
    own.write_text(settings)
    environment = {
        **os.environ,
        "VAGRANT_HOME": str(home / "home"),
        "VAGRANT_DOTFILE_PATH": str(home / "machine"),
        "VAGRANT_CHECKPOINT_DISABLE": "1",
        "VAGRANT_EXPERIMENTAL": "disks",
        "REDOLAB_VAGRANT_SETTINGS": str(own),
    }
    return subprocess.run(
        ["vagrant", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT.vagrant,
        env=environment,
        timeout=200,
    )


@pytest.mark.parametrize(
    ("settings", "is_valid"),
    [
        ("", True),
        ("box: debian/bookworm64\nmemory: 8G\ndisk_size: 1T\n", True),
        # Without VirtualBox on the machine, what is VirtualBox's own can only be read.
        ("provider: virtualbox\nbox: debian/bookworm64\n", True),
        ("memory: lots\n", False),
        ("cpus: lots\n", False),
    ],
)
def test_settings_are_valid_or_named(home: Path, settings: str, is_valid: bool) -> None:
    said = _vagrant(home, "validate", *(["--ignore-provider"] if "virtualbox" in settings else []), settings=settings)
    assert (said.returncode == 0) is is_valid, said.stdout + said.stderr
    assert ("lots" in said.stdout + said.stderr) is not is_valid
