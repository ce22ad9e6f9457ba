"""A user's own servers: from a tarball, and from a folder."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from redolab.lab import open_lab
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from redolab.servers.catalogue import server_catalogue
from redolab.servers.own import OwnServers
from tests.command import SMALL, redolab


def unpacked(name: str) -> Path:
    """A server of the catalogue, as a vendor's tarball has it inside: bin/ and share/."""
    with open_lab(Progress(Console(quiet=True)), list) as lab:
        return lab.server(name).share_on_host.parent


@pytest.fixture
def tarball(tmp_path: Path) -> Path:
    made = tmp_path / "mysql-5.7.22-linux.tar.gz"
    command = ["tar", "--create", "--gzip", "--file", str(made), "--transform=s,^[.],mysql-5.7.22-linux,"]
    subprocess.run([*command, "--directory", str(unpacked("mysql-5.7")), "./bin", "./share"], check=True)
    return made


def _expect(version: str) -> None:
    """As if the catalogue named another version of the server that was added."""
    entries = OwnServers(PROJECT.own_servers).entries()
    entries["mine"] = msgspec.structs.replace(entries["mine"], version=version)
    PROJECT.own_servers.write_bytes(msgspec.json.encode(entries))


def _as_planned_with(run: Run, version: str) -> None:
    """As if it had been planned with that version, and stopped before its first trial was measured."""
    (run.folder / "trials.jsonl").write_bytes(b"")
    plan = run.folder / "plan.json"
    plan.write_text(plan.read_text().replace("5.7.22", version))
    run.write_record(msgspec.structs.replace(run.record(), state=RunState.STOPPED))


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    if "mine" in server_catalogue().names():
        redolab("server", "rm", "mine")


@pytest.mark.alone
@pytest.mark.thorough
def test_a_tarball_becomes_a_server_that_crashes_like_any_other(tarball: Path) -> None:
    added = redolab("server", "add", "mine", "--tarball", str(tarball))
    assert added.returncode == 0, added.stderr
    assert "added mine: mysql 5.7.22" in added.stdout
    assert "SHA-256" in added.stdout
    assert "yours: tarball" in redolab("servers").stdout
    again = redolab("server", "add", "mine", "--tarball", str(tarball))
    assert (again.returncode, again.stderr) == (
        2, "redolab: mine is there as 5.7.22 already: give another version of it\n",
    )  # fmt: skip
    tarball.unlink()
    _expect("5.7.21")
    done = redolab("run", "recovery", *SMALL, "--server", "mine", "--repeat", "1", "--keep", "off")
    assert done.returncode == 0, done.stderr
    assert "mine (5.7.22)" in done.stdout
    assert "mine is 5.7.22, and 5.7.21 is expected of it: 'redolab server fetch mine'" in " ".join(done.stdout.split())
    assert "mine was 5.7.22; the catalogue expected 5.7.21." in " ".join(done.stdout.split())
    run = RunStore().get("latest")
    _as_planned_with(run, "5.7.20")
    refused = redolab("run", "recovery", "--resume", run.name, "--beside-others")
    assert (refused.returncode, refused.stderr) == (
        2,
        "redolab: the run was planned with mine 5.7.20, and here it is 5.7.22: "
        "'redolab server add mine --tarball FILE' with a tarball of that version, or start a new run\n",
    )
    assert redolab("server", "rm", "mine").stdout == "removed the server mine\n"
    assert "mine" not in redolab("servers").stdout


def test_a_folder_stays_where_it_is_and_is_run_from_there() -> None:
    # 5.5 is linked with nothing that a machine with a C++ library lacks.
    added = redolab("server", "add", "mine", "--path", str(unpacked("mysql-5.5")))
    assert added.returncode == 0, added.stderr
    assert "added mine: mysql 5.5.9" in added.stdout
    shown = redolab("capacity", "--server", "mine", "--log-size", "1G")
    assert "innodb_log_file_size = 536870912" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["mine"], "a server is added from one place: give either --tarball FILE or --path DIR"),
        (["mine", "--path", "/"], "/ holds no server"),
        (["mine", "--tarball", "/nowhere.tar"], "/nowhere.tar is no file"),
        (["Mine!", "--path", "/usr"], "'Mine!' cannot be a server's name"),
        (["mysql-5.7", "--path", "/usr"], "there is a server 'mysql-5.7' already"),
    ],
)
def test_what_is_no_server_is_refused(arguments: list[str], problem: str) -> None:
    done = redolab("server", "add", *arguments)
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert "mine" not in server_catalogue().names()


def test_a_wrong_checksum_is_refused(tarball: Path) -> None:
    done = redolab("server", "add", "mine", "--tarball", str(tarball), "--sha256", "0" * 64)
    assert done.returncode == 1
    assert "instead of 0000" in done.stderr
    assert "mine" not in server_catalogue().names()


def test_what_is_not_ones_own_cannot_be_removed() -> None:
    done = redolab("server", "rm", "mysql-5.7")
    assert done.returncode == 2
    assert "'mysql-5.7' is not a server that you added" in done.stderr


def test_a_name_that_is_a_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "servers.json").write_bytes(
        b'{"../../photos": {"family": "mysql", "version": "8.0", "program": "bin/mysqld", "share": "share", '
        b'"source": {"kind": "folder", "path": "/opt/mysql"}}}'
    )
    refused = redolab("server", "rm", "../../photos", environment={"REDOLAB_SERVERS": str(tmp_path / "servers.json")})
    assert refused.returncode == 2
    assert refused.stderr == (
        f"redolab: {tmp_path}/servers.json: '../../photos' cannot be a server's name: mend that entry\n"
    )
