"""A user's own servers: from a tarball, and from a folder."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from redolab.project import PROJECT
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from redolab.servers.catalogue import server_catalogue
from redolab.servers.own import own_servers
from tests.command import SMALL, redolab, unpacked

pytestmark = pytest.mark.server


@pytest.fixture
def tarball(tmp_path: Path) -> Path:
    made = tmp_path / "mysql-5.7.22-linux.tar.gz"
    command = ["tar", "--create", "--gzip", "--file", str(made), "--transform=s,^[.],mysql-5.7.22-linux,"]
    subprocess.run(
        [*command, "--directory", str(unpacked("mysql-5.7").share_on_host.parent), "./bin", "./share"], check=True
    )
    return made


def _expect(version: str) -> None:
    """As if the catalogue named another version of the server that was added."""
    entries = own_servers()
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
    assert "mysql 5.7.22" in added.stdout
    assert "mine" in redolab("servers").stdout
    assert redolab("server", "add", "mine", "--tarball", str(tarball)).returncode == 2
    tarball.unlink()
    _expect("5.7.21")
    done = redolab("run", "recovery", *SMALL, "--server", "mine", "--repeat", "1", "--keep", "off")
    assert done.returncode == 0, done.stderr
    assert "mine (5.7.22)" in done.stdout
    assert "5.7.21" in done.stdout
    run = RunStore().get("latest")
    _as_planned_with(run, "5.7.20")
    refused = redolab("run", "recovery", "--resume", run.name, "--beside-others")
    assert (refused.returncode, "5.7.20" in refused.stderr) == (2, True)
    assert redolab("server", "rm", "mine").returncode == 0
    assert "mine" not in redolab("servers").stdout


def test_a_folder_stays_where_it_is_and_is_run_from_there() -> None:
    # 5.5 is linked with nothing that a machine with a C++ library lacks.
    added = redolab("server", "add", "mine", "--path", str(unpacked("mysql-5.5").share_on_host.parent))
    assert added.returncode == 0, added.stderr
    assert "mysql 5.5.9" in added.stdout
    shown = redolab("capacity", "--server", "mine", "--log-size", "1G")
    assert "innodb_log_file_size = 536870912" in shown.stdout


def test_a_name_that_is_a_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "servers.json").write_bytes(
        b'{"../../photos": {"family": "mysql", "version": "8.0", "program": "bin/mysqld", "share": "share", '
        b'"source": {"kind": "folder", "path": "/opt/mysql"}}}'
    )
    refused = redolab("server", "rm", "../../photos", environment={"REDOLAB_SERVERS": str(tmp_path / "servers.json")})
    assert refused.returncode == 2
    assert f"{tmp_path}/servers.json: '../../photos'" in refused.stderr


@pytest.mark.parametrize("content", ["", "[]", '{"mine": {"family": "mysql"}}'])
def test_a_file_that_cannot_be_read_is_named(content: str, tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text(content)
    refused = redolab("servers", environment={"REDOLAB_SERVERS": str(file)})
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"redolab: the catalogue {file} cannot be read")
