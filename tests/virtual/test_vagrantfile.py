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


@pytest.mark.parametrize("settings", ["", "box: debian/bookworm64\nmemory: 8G\ndisk_size: 1T\n"])
def test_it_is_valid_for_libvirt(home: Path, settings: str) -> None:
    said = _vagrant(home, "validate", settings=settings)
    assert said.returncode == 0, said.stdout + said.stderr


def test_it_is_valid_for_virtualbox(home: Path) -> None:
    # Without VirtualBox on the machine, what is VirtualBox's own can only be read.
    said = _vagrant(home, "validate", "--ignore-provider", settings="provider: virtualbox\nbox: debian/bookworm64\n")
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.parametrize("settings", ["memory: lots\n", "cpus: lots\n"])
def test_a_wrong_value_is_named(home: Path, settings: str) -> None:
    said = _vagrant(home, "validate", settings=settings)
    assert said.returncode != 0
    assert "lots" in said.stdout + said.stderr
