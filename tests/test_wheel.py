"""The wheel: built from the repository, installed beside nothing of it, used from an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from redolab import __version__
from redolab.project import PROJECT
from tests.command import SMALL

pytestmark = pytest.mark.server

LOGS = PROJECT.root / "tests/logs/real"
RUNS = PROJECT.measured / "recovery"

Installed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as a wheel has it, and none of the clone's."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(PROJECT.root)]
    temporary = folder / "temporary"
    temporary.mkdir()
    subprocess.run(build, check=True, env={**os.environ, "TMPDIR": str(temporary)})
    (wheel,) = folder.glob("redolab-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder / "packages"), str(wheel)], check=True)
    return folder / "packages"


@pytest.fixture
def installed(packages: Path, tmp_path: Path) -> Installed:
    """Runs the installed command line in an empty folder, with a cache of its own."""

    def run(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        ours = ("REDOLAB_LAB", "REDOLAB_RUNS", "REDOLAB_SERVERS")
        kept = {name: value for name, value in os.environ.items() if name not in ours}
        return subprocess.run(
            [sys.executable, "-P", "-m", "redolab", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**kept, "PYTHONPATH": str(packages), "XDG_CACHE_HOME": str(tmp_path / "cache"), **(environment or {})},
        )

    return run


def test_it_brings_everything_and_no_module_that_is_not_its_own(packages: Path) -> None:
    assert {path.name.partition("-")[0] for path in packages.iterdir()} - {"bin"} == {"redolab"}
    for name in (
        "experiments/recovery/experiment.py",
        "provision/servers.toml",
        "diskmodel/serve.c",
        "slowlogplugin/plugin.cc",
        "COMMIT",
    ):
        assert (packages / "redolab" / name).exists(), name
    assert not list(packages.rglob("*.local.*"))


def test_its_verbs_work_from_any_folder(installed: Installed, packages: Path, tmp_path: Path) -> None:
    commit = (packages / "redolab/COMMIT").read_text().strip()
    assert commit
    assert installed("--version").stdout == f"redolab {__version__}, commit {commit}\n"
    assert next(packages.glob("redolab-*.dist-info")).name == f"redolab-{__version__}.dist-info"
    assert "32 × 256M" in installed("capacity", "--server", "mysql-9").stdout
    assert "recovery 1 of 2" in installed("timeline", str(LOGS / "mysql-9-recovery-crash.log")).stdout
    assert "--trx-commit" in installed("run", "inflation", "--help").stdout
    (run,) = RUNS.glob("*-recovery")
    theirs = {"REDOLAB_RUNS": str(RUNS)}
    assert run.name in installed("runs", environment=theirs).stdout
    kept = installed("keep", "stuck", run.name, environment=theirs)
    assert kept.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] in ([], ["cache"])


def test_it_recovers_a_real_server_and_keeps_the_run_where_it_was_started(installed: Installed, tmp_path: Path) -> None:
    # The servers of the tests' lab, so that none is fetched again.
    lab = {"REDOLAB_LAB": str(PROJECT.lab)}
    done = installed("run", "recovery", *SMALL, "--repeat", "1", environment=lab)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "redolab-runs").iterdir()
    shown = installed("show", "latest", environment=lab)
    assert (run / "table.txt").read_text().strip() in shown.stdout
    (run / "table.txt").unlink()
    assert installed("report", "latest", environment=lab).returncode == 0
    assert (run / "table.txt").exists()
