"""`redolab-incident.pyz`, run by Pythons that see no packages, beside the installed `redolab`: the same answers by both."""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

import click
import msgspec
import pytest

from redolab import __version__
from redolab.commands.timeline import timeline
from redolab.commands.watch import follow
from redolab.errors import LabError
from redolab.incident import build
from redolab.incident.main import follow_options, timeline_options
from redolab.project import PROJECT
from redolab.units import MIB
from redolab.watch.following.follow import experience
from redolab.watch.following.time_left import POINTS, Done, Way, time_left
from tests.command import redolab
from tests.logs import ERROR_LOGS
from tests.watch.test_follow import recorded

SYSTEMS = Path("/usr/bin/python3")
VERSIONS = ("system", "3.9", "3.10", "3.12", "3.13", "3.14")
LOG = next(log for log in ERROR_LOGS if log.name == "mariadb-10.11-plain.log")
BY_THE_CLOCK = {"at", "elapsed_s", "share", "words"}
"""Keys whose values depend on when a command runs."""


@cache
def python_of(version: str) -> Path | None:
    """A Python of that version on this machine: of PATH, or one that pyenv built. None without."""
    if version == "system":
        return SYSTEMS if SYSTEMS.exists() else None
    found = shutil.which(f"python{version}")
    built = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    for path in [*([] if found is None else [Path(found)]), *built]:
        ask = [str(path), "-c", "import lzma, bz2, zlib, sys; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() == version:
            return path
    return None


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("incident") / "redolab-incident.pyz"
    build.build(path)
    return path


@pytest.fixture(params=VERSIONS)
def alone(request: pytest.FixtureRequest) -> list[str]:
    """The beginning of a command: a Python without packages, without the user's environment."""
    python = python_of(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} on this machine")
    return [str(python), "-I", "-S"]


def run(command: Sequence[object], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(each) for each in command], input=given, capture_output=True, check=False, timeout=200)


@cache
def installed(*arguments: str) -> subprocess.CompletedProcess[str]:
    return redolab(*arguments)


@pytest.mark.parametrize("form", [("--json",), ()], ids=["json", "text"])
def test_timelines_of_all_logs_are_the_same(form: tuple[str, ...], packed: Path, alone: list[str]) -> None:
    logs = [str(log) for log in ERROR_LOGS]
    done, theirs = run([*alone, packed, "timeline", *form, *logs]), installed("timeline", *form, *logs)
    assert done.stdout.decode() == theirs.stdout
    assert (done.returncode, done.stderr.decode()) == (theirs.returncode, theirs.stderr)
    if form:
        golden = [json.loads(log.with_suffix(".json").read_text()) for log in ERROR_LOGS]
        assert [json.loads(line)["recoveries"] for line in done.stdout.splitlines()] == golden


def test_standard_input_may_be_compressed(packed: Path, alone: list[str]) -> None:
    done = run([*alone, packed, "timeline", "-", "--json"], gzip.compress(LOG.read_bytes()))
    (found,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert found["recoveries"] == json.loads(LOG.with_suffix(".json").read_text())


@pytest.mark.parametrize("server", ["mysql-9", "mariadb-10.2"])
def test_a_recovery_that_is_followed_is_the_same(server: str, packed: Path, alone: list[str]) -> None:
    replay = recorded(server, longer_than=20.0)
    given = "".join(f"{text}\n" for at, text in replay.lines if at < replay.ready / 2)
    done = run([*alone, packed, "follow", "--json", "-"], given.encode())
    theirs = redolab("follow", "--json", "-", given=given)
    assert (done.returncode, done.stderr.decode()) == (theirs.returncode, theirs.stderr)
    ours, other = json.loads(done.stdout.splitlines()[-1]), json.loads(theirs.stdout.splitlines()[-1])
    assert ours.keys() == other.keys()
    assert other["state"] == "recovering"
    assert {key: ours[key] for key in ours if key not in BY_THE_CLOCK} == {
        # Times follow the clock: the two commands run one after the other.
        key: pytest.approx(other[key], rel=0.05, abs=0.5) if isinstance(other[key], float) else other[key]
        for key in other
        if key not in BY_THE_CLOCK
    }
    words = run([*alone, packed, "follow", "-"], given.encode()).stdout.decode()
    assert "ready in" in words


ASK = """
import pkgutil, sys
sys.path.insert(0, {packed!r})
from redolab.incident.older import add_to_python
add_to_python()
import msgspec
from redolab.watch.following.follow import experience
from redolab.watch.following.time_left import Done, Way, time_left
known = experience(pkgutil.get_data("redolab.incident", "recoveries.json.xz"))
for values in msgspec.json.decode(sys.stdin.read()):
    kind = values.pop("kind")
    courses = known.courses_of(kind, shows_reading=values["read"] > 0)
    left = time_left(Done(**values), courses, known.widening_of(Way.FILES, kind))
    print(msgspec.json.encode(left).decode())
"""


def test_the_time_left_is_the_same_in_the_middle_of_recorded_recoveries(packed: Path, alone: list[str]) -> None:
    """One recording in five is followed, each to another point."""
    known = experience()
    asked = []
    for number, course in enumerate(known.courses[::5]):
        point = number % POINTS
        done = Done(
            elapsed=course.ready * point / POINTS,
            total=float(course.redo) if number % 3 else None,
            read=course.read[point] * course.redo,
            applied=course.applied[point] * course.redo if number % 2 else None,
            complete=course.complete[point] * course.redo,
            reading_s=course.reading[point],
            applying_s=course.applying[point],
            unseen_s=course.unseen[point],
            in_batch_s=course.in_batch[point],
            pages_a_mib=course.pages_a_mib[point] or None,
        )
        asked.append((course.kind if number % 7 else None, done))
    given = msgspec.json.encode([{"kind": kind, **asdict(done)} for kind, done in asked])
    predicted = run([*alone, "-c", ASK.format(packed=str(packed))], given)
    assert predicted.stderr == b""
    for (kind, done), line in zip(asked, predicted.stdout.splitlines(), strict=True):
        theirs = json.loads(line)
        courses = known.courses_of(kind, shows_reading=done.read > 0)
        ours = time_left(done, courses, known.widening_of(Way.FILES, kind))
        assert theirs == pytest.approx(msgspec.to_builtins(ours))


@pytest.mark.parametrize(
    "arguments",
    [
        ("timeline", "/nowhere/error.log"),
        ("follow", "/nowhere/error.log"),
        ("follow",),
        ("follow", "--pid", "1"),
        ("follow", "--every", "0.1s", str(LOG)),
        ("follow", "--server", "mysql", str(LOG)),
        ("follow", "--port", "3307", str(LOG)),
        ("follow", "--defaults-file", "/nowhere/my.cnf", str(LOG)),
    ],
)
def test_what_cannot_be_done_is_the_same_line_and_status(arguments: tuple[str, ...], packed: Path) -> None:
    done, theirs = run([SYSTEMS, "-I", "-S", packed, *arguments]), redolab(*arguments)
    assert (done.returncode, done.stderr.decode()) == (theirs.returncode, theirs.stderr)
    assert done.returncode > 0
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [("recover",), ("timeline",), ("timeline", "--nothing"), ("follow", "--pid", "x"), ("follow", "a", "b")],
)
def test_words_that_are_no_command_are_bad_input(arguments: tuple[str, ...], packed: Path, alone: list[str]) -> None:
    done = run([*alone, packed, *arguments])
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("redolab: ")


def test_a_server_can_be_asked_for_its_rollback(packed: Path, alone: list[str]) -> None:
    ask = (
        f"import sys; sys.path.insert(0, {str(packed)!r}); from redolab.incident.older import add_to_python; add_to_python();"
        "from redolab.watch.following.rollback import RollbackWatch; from redolab.servers.address import Address;"
        "watch = RollbackWatch(Address(socket='/nowhere/mysqld.sock')); watch.look(0.0); print(watch.rows)"
    )
    done = run([*alone, "-c", ask])
    assert (done.stdout, done.stderr) == (b"None\n", b"")


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("ours", "theirs"), [(follow_options(), follow), (timeline_options(), timeline)])
def test_it_has_the_options_of_the_installed_command(
    ours: argparse.ArgumentParser, theirs: click.Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name, with the same words."""
    monkeypatch.setenv("COLUMNS", "1000")
    text = ours.format_help()
    words = in_one_line(text)
    options = [each for each in theirs.params if isinstance(each, click.Option)]
    names = set(re.findall(r"^  (?:-\w.*, )?(--[\w-]+)", text, re.MULTILINE))
    assert names == {"--help", *(each.opts[-1] for each in options)}
    for each in options:
        assert in_one_line(f"{each.opts[-1]} {each.metavar or ''}") in words
        assert in_one_line(each.help or "") in words
    (argument,) = [each for each in theirs.params if isinstance(each, click.Argument)]
    assert f"\n  {argument.metavar}" in text


def test_it_is_one_small_file_and_the_same_each_time(packed: Path, tmp_path: Path) -> None:
    build.build(tmp_path / "again.pyz")
    assert (tmp_path / "again.pyz").read_bytes() == packed.read_bytes()
    assert packed.stat().st_size < 3 * MIB
    not_wanted = ("numpy", "rich", "click", "redolab/commands", "redolab/predict")
    assert not [name for name in zipfile.ZipFile(packed).namelist() if name.startswith(not_wanted)]
    version = run([SYSTEMS, "-I", "-S", packed, "--version"]).stdout.decode()
    assert version.startswith(f"redolab {__version__}, commit ")


def test_a_module_that_a_server_cannot_load_is_not_packed() -> None:
    with pytest.raises(LabError):
        build.modules_to_pack("redolab.predict.fitting", PROJECT.root)


def test_syntax_of_a_newer_python_is_not_packed(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("match 1:\n    case _:\n        pass\n")
    with pytest.raises(LabError):
        build.modules_to_pack("new", tmp_path)


def test_an_older_python_says_so(packed: Path) -> None:
    python = python_of("3.8")
    if python is None:
        pytest.skip("no Python 3.8 on this machine")
    done = run([python, packed, "--version"])
    assert done.returncode == 1
    assert b"3.9" in done.stderr
