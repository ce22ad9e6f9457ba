"""Machines of other distributions: what they lack is named, and nothing is run for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from redolab.commands.upkeep.diagnosis import Examination, examine
from redolab.errors import LabError
from redolab.machine import apt, distribution
from redolab.machine.clean_up_journal import Journal
from redolab.machine.tools import Tools
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.servers.catalogue import server_catalogue

ROCKY = 'NAME="Rocky Linux"\nVERSION="9.4 (Blue Onyx)"\nID="rocky"\n\nID_LIKE="rhel centos fedora"\n'


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this machine says what it is."""
    file = tmp_path / "os-release"
    monkeypatch.setattr(distribution, "OS_RELEASE", file)
    return file


@pytest.mark.parametrize(
    ("said", "suite"),
    [
        ("ID=debian\nVERSION_CODENAME=bookworm\n", "bookworm"),
        ("ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n", "noble"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n', "noble"),
        ("ID=linuxmint\nID_LIKE=debian\nVERSION_CODENAME=faye\nDEBIAN_CODENAME=bookworm\n", "bookworm"),
    ],
)
def test_the_suite_is_that_of_the_archive_whose_packages_it_has(said: str, suite: str, released: Path) -> None:
    released.write_text(said)
    assert apt.codename() == suite
    assert distribution.how_to_install(["fio", "maven"]) == "apt install fio maven"


def test_without_apt_what_is_missing_is_named_and_nothing_is_run_for_it(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released.write_text(ROCKY)
    monkeypatch.setattr("redolab.machine.processes.which", lambda program: None)
    monkeypatch.setattr("redolab.machine.processes.run", lambda *given, **options: pytest.fail(f"{given} was run"))
    tools = Tools(tmp_path / "tools", Journal(tmp_path / "journal"))
    with pytest.raises(LabError) as refused:
        tools.require(["bwrap", "sysbench"], Progress(Console()))
    assert refused.value.remedy == "install bubblewrap sysbench"
    assert not (tmp_path / "tools").exists()


@pytest.mark.parametrize(
    ("said", "cannot"),
    [(ROCKY, server_catalogue().names()), ("ID=ubuntu\n", ["mysql-9", "mariadb-10.5", "mariadb-11.8"])],
)
def test_servers_that_cannot_be_made_there_are_refused(said: str, cannot: list[str], released: Path) -> None:
    released.write_text(said)
    refused = []
    for name, entry in server_catalogue().items():
        try:
            entry.source.check_here()
        except LabError:
            refused.append(name)
    assert refused == cannot


def test_doctor_names_what_to_install_and_whether_a_run_is_possible(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def examined(said: str) -> tuple[dict[str, Examination], bool]:
        released.write_text(said)
        diagnosis = examine(64 * 2**20)
        return {each.what: each for each in diagnosis.examined}, diagnosis.fit

    monkeypatch.setattr(type(PROJECT), "lab", property(lambda _: tmp_path / "lab"))
    monkeypatch.setattr("redolab.machine.tools.Tools.find", lambda tools, name: None)
    known, fit = examined(ROCKY)
    assert not fit
    assert {name for name, each in known.items() if each.verdict == "LACKING"} == {"bwrap", "sysbench"}
    assert (known["servers"].verdict, known["sysbench"].remedy) == ("limits", "install sysbench")
    known, _ = examined("ID=debian\n")
    assert known["bwrap"].verdict == "limits"
