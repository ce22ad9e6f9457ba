"""Versions of one server, side by side: which is taken."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from redolab.commands.upkeep.lab_servers import listed_servers
from redolab.errors import InvalidInput, LabError
from redolab.lab import Lab, tools_of
from redolab.machine import files
from redolab.machine.clean_up_journal import Journal
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.servers.dialects import Version
from redolab.servers.install import CatalogueEntry, Servers
from redolab.servers.own import entry_of_folder, keep_own_server
from tests.command import QUIET


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path / "servers", Journal(tmp_path / "journal"), tools_of(PROJECT.lab))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """What servers come from: another version each time it is `released`."""
    return released(tmp_path / "source", "5.7.30")


def released(source: Path, version: str, of: str = "MySQL") -> Path:
    """A program that says of itself what a server of that version says: as much as installing asks of it."""
    files.write_whole(source / "bin/mysqld", f"#!/bin/sh\necho 'mysqld  Ver {version} for Linux ({of})'\n".encode())
    (source / "bin/mysqld").chmod(0o755)
    files.write_whole(source / "share/english/errmsg.sys", b"messages")
    return source


def expecting(source: Path, version: str) -> CatalogueEntry:
    return msgspec.structs.replace(entry_of_folder(source), version=version)


def test_versions_lie_side_by_side(servers: Servers, source: Path, tmp_path: Path) -> None:
    entry = expecting(source, "5.7.29")
    assert servers.installed("mine", entry) is None
    assert servers.install("mine", entry, QUIET).version == "5.7.30"
    # What is there is taken, though it is another than expected: nobody has to download.
    released(source, "5.7.29-log")
    assert servers.install("mine", entry, QUIET).version == "5.7.30"
    assert servers.fetch("mine", entry, QUIET).version == "5.7.29-log"
    assert files.names(tmp_path / "servers") == ["mine-5.7.29", "mine-5.7.30"]
    # The one expected comes first, and without it the latest.
    assert servers.install("mine", entry, QUIET).version == "5.7.29-log"
    assert servers.install("mine", expecting(source, "5.7.44"), QUIET).version == "5.7.30"
    assert [each.version for each in servers.versions("mine")] == ["5.7.30", "5.7.29-log"]
    found = servers.of_version("mine", Version.parse("5.7.29-debian"))
    assert found is not None
    assert found.folder == tmp_path / "servers/mine-5.7.29"
    assert servers.of_version("mine", Version.parse("5.7.28")) is None
    assert servers.size("mine") > 0
    servers.remove("mine")
    assert files.names(tmp_path / "servers") == []


def test_what_cannot_be_fetched_leaves_what_is_there(servers: Servers, source: Path, tmp_path: Path) -> None:
    entry = expecting(source, "5.7.30")
    there = servers.install("mine", entry, QUIET)
    files.write_whole(source / "bin/mysqld", b"#!/bin/sh\nexit 1\n")
    with pytest.raises(LabError):
        servers.fetch("mine", entry, QUIET)
    assert servers.install("mine", entry, QUIET).folder == there.folder
    assert files.names(tmp_path / "servers") == ["mine-5.7.30"]


def test_another_version_is_supplied_for_what_asks_for_it(servers: Servers, source: Path, tmp_path: Path) -> None:
    entry = expecting(source, "5.7.30")
    servers.install("mine", entry, QUIET)
    other = expecting(released(tmp_path / "other", "5.7.12"), "5.7.12")
    assert servers.supply("mine", other, "mysql", QUIET).version == "5.7.12"
    assert servers.of_version("mine", Version.parse("5.7.12")) is not None
    # And by nothing else, were it later or as expected.
    assert servers.install("mine", entry, QUIET).version == "5.7.30"
    assert servers.install("mine", expecting(source, "5.7.12"), QUIET).version == "5.7.30"
    with pytest.raises(InvalidInput):
        servers.supply("mine", other, "mysql", QUIET)
    released(tmp_path / "other", "10.11.19-MariaDB", "MariaDB")
    with pytest.raises(InvalidInput):
        servers.supply("mine", other, "mysql", QUIET)
    assert files.names(tmp_path / "servers") == ["mine-5.7.12", "mine-5.7.30"]


def test_a_folder_of_another_server_is_not_taken(servers: Servers, source: Path, tmp_path: Path) -> None:
    servers.install("mine-5.7", expecting(source, "5.7.30"), QUIET)
    (tmp_path / "servers/mine-5.7-5.7.30").rename(tmp_path / "servers/mine-5.7.30")
    with pytest.raises(LabError):
        servers.install("mine", expecting(source, "5.7.30"), QUIET)
    assert [each.version for each in servers.versions("mine-5.7")] == ["5.7.30"]


def test_another_version_than_expected_is_told_once_and_the_one_planned_is_taken(
    lab: Lab, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDOLAB_SERVERS", str(tmp_path / "servers.json"))
    entry = entry_of_folder(source)
    try:
        keep_own_server("mine", entry, lab.servers.install("mine", entry, QUIET))
        released(source, "5.7.31")
        lab.servers.fetch("mine", entry, QUIET)
        # 5.7.30 is expected, as it was that when it was added.
        said = io.StringIO()
        telling = replace(lab, progress=Progress(Console(file=said, width=200)))
        assert telling.server("mine").version == "5.7.30"
        assert telling.server("mine", "5.7.1").version == "5.7.30"
        assert said.getvalue() == ""
        for asked in ("5.7.31", "5.7.31-from-elsewhere"):
            assert telling.server("mine", asked).version == "5.7.31"
        assert [line.count("5.7.31") for line in said.getvalue().splitlines()] == [1]
        assert [each.state for each in listed_servers() if each.name == "mine"] == ["ready; 5.7.31 beside it"]
    finally:
        lab.servers.remove("mine")
