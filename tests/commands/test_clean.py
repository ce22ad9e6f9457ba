"""The lab's folder as a person names it, and `clean`, which says what it removes, asks, and removes nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from redolab.machine.lab_folder import MARK
from redolab.project import PROJECT
from tests.command import redolab
from tests.machine.test_lab_folder import held, make

PRECIOUS = {
    "journal/0123456789abcdef.json": '{"path": "PHOTOS", "what": "photos"}',
    "photos/wedding.jpg": "precious",
    "servers/web/index.html": "precious",
    "tools/hammer.txt": "precious",
}
KEPT = {
    "servers/mysql-9/server.json": "{}",
    "servers/mysql-9/root/mysqld": "x" * 50_000,
    "storage/local/datasets/mysql-9-32M/data/ibdata1": "x" * 100_000,
    "storage/local/images/mysql-9-64M/data/ibdata1": "x" * 200_000,
    "storage/local/images/mysql-9-64M/image.json": "{}",
    MARK: "",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "lab"


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`redolab ARGUMENTS` with that folder, and no terminal."""
    places = {"REDOLAB_LAB": str(folder), "REDOLAB_RUNS": str(folder.parent / "runs")}
    return redolab(*arguments, environment={**places, **environment})


def answering(answer: str, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command at a terminal where somebody types an answer."""
    return subprocess.run(
        ["script", "--quiet", "--return", "--command", " ".join(command), "/dev/null"],
        input=f"{answer}\n", capture_output=True, text=True, check=False, cwd=PROJECT.root, timeout=60,
        env={**os.environ, "REDOLAB_LAB": str(folder), "REDOLAB_RUNS": str(folder.parent / "runs")},
    )  # fmt: skip


@pytest.mark.parametrize("verb", [("rm", "any"), ("clean", "--yes"), ("run", "recovery", "--plan"), ("vm", "up")])
def test_a_folder_of_somebody_elses_is_refused_in_a_line_and_left_as_it_is(verb: tuple[str, ...], folder: Path) -> None:
    make(folder, {name: text.replace("PHOTOS", str(folder / "photos")) for name, text in PRECIOUS.items()})
    before = {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}
    refused = run(folder, *verb)
    assert refused.returncode == 2
    assert refused.stderr.endswith(f"REDOLAB_LAB={folder}/redolab\n")
    assert refused.stderr.count("\n") == 1
    assert {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]} == before


def test_clean_asks_and_takes_no_for_an_answer(folder: Path) -> None:
    make(folder, KEPT)
    before = held(folder)
    asked = answering("n", folder, sys.executable, "-m", "redolab", "clean")
    assert asked.returncode == 1
    for name in (str(folder), "(mysql-9)", "(mysql-9-64M)"):
        assert name in asked.stdout
    assert held(folder) == before


def test_clean_that_is_told_to_removes_all_of_the_labs_and_the_folder(folder: Path) -> None:
    make(folder, {**KEPT, "lost+found/": ""})
    assert answering("y", folder, sys.executable, "-m", "redolab", "clean").returncode == 0
    assert held(folder) == ["lost+found"]
    assert run(folder, "clean").returncode == 0
    assert held(folder) == ["lost+found"]


def test_clean_leaves_what_is_not_the_labs_in_its_folder(folder: Path) -> None:
    make(folder, {**KEPT, "photos/wedding.jpg": "precious"})
    done = run(folder, "clean", "--yes")
    assert done.returncode == 0, done.stderr
    assert held(folder) == ["photos", "photos/wedding.jpg", MARK]


def test_nothing_behind_a_link_is_removed(folder: Path, tmp_path: Path) -> None:
    make(folder, {MARK: ""})
    make(tmp_path, {"theirs/local/photos/wedding.jpg": "precious", "image/image.json": "precious"})
    (folder / "storage").symlink_to(tmp_path / "theirs")
    refused = run(folder, "clean", "--yes")
    assert refused.returncode == 2
    assert f"{folder}/storage " in refused.stderr
    assert (tmp_path / "theirs/local/photos/wedding.jpg").exists()
    (folder / "storage").unlink()
    (folder / "storage/local/images").mkdir(parents=True)
    (folder / "storage/local/images/one").symlink_to(tmp_path / "image")
    assert run(folder, "rm", "one").returncode == 0
    assert not (folder / "storage/local/images/one").is_symlink()
    assert (tmp_path / "image/image.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_what_somebody_has_mounted_in_it_is_not_emptied(folder: Path, tmp_path: Path) -> None:
    make(folder, KEPT)
    make(tmp_path, {"theirs/wedding.jpg": "precious"})
    mounted = folder / "storage/local/images/mysql-9-64M/data/mounted"
    mounted.mkdir()
    subprocess.run(["mount", "--bind", tmp_path / "theirs", mounted], check=True)
    try:
        refused = run(folder, "clean", "--yes")
        assert refused.returncode == 2
        assert str(mounted) in refused.stderr
        assert (tmp_path / "theirs/wedding.jpg").exists()
        assert (folder / "servers/mysql-9/server.json").exists()
    finally:
        subprocess.run(["umount", mounted], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_disk_of_its_own_is_taken_and_cleaned_with_its_mount_left(folder: Path) -> None:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16M", "tmpfs", folder], check=True)
    try:
        make(folder, {"lost+found/": ""})
        assert run(folder, "rm", "any").returncode == 2
        make(folder, KEPT)
        done = run(folder, "clean", "--yes")
        assert done.returncode == 0, done.stderr
        assert held(folder) == ["lost+found"]
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        refused = run(folder, "rm", "any")
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
    finally:
        subprocess.run(["umount", folder], check=True)


def test_make_clean_stops_where_nobody_can_be_asked_and_is_told_by_a_variable(folder: Path, tmp_path: Path) -> None:
    make(folder, KEPT)
    environment = tmp_path / "venv"
    environment.mkdir()
    makefile = PROJECT.root / "Makefile"
    ours = [f"VENV={environment}", f"REDOLAB={Path(sys.executable).with_name('redolab')}"]

    def make_clean(*words: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(
            ["make", "--no-print-directory", f"--file={makefile}", "clean", *ours, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
            # A YES of the environment is no answer.
            env={**kept, "REDOLAB_LAB": str(folder), "REDOLAB_RUNS": str(tmp_path / "runs"), "YES": "1"},
        )  # fmt: skip

    refused = make_clean()
    assert refused.returncode == 2
    assert "YES=1" in refused.stderr
    assert (folder / "servers/mysql-9/server.json").exists()
    assert environment.exists()
    done = make_clean("YES=1")
    assert done.returncode == 0, done.stderr
    assert not folder.exists()
    assert not environment.exists()
