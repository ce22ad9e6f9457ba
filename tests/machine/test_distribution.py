"""Machines of other distributions: what they lack is named, and nothing is run for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from redolab.commands.upkeep.diagnosis import Examination, examine
from redolab.errors import LabError
from redolab.machine import apt, distribution
from redolab.machine.clean_up_journal import Journal
from redolab.machine.tools import Tools
from redolab.project import PROJECT
from redolab.servers.catalogue import server_catalogue
from tests.command import QUIET

Release = dict[str, str]
ROCKY = {"ID": "rocky", "ID_LIKE": "rhel centos fedora"}


@pytest.fixture
def machine_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Release], None]:
    """A function that gives this machine another /etc/os-release."""
    return lambda release: monkeypatch.setattr("platform.freedesktop_os_release", lambda: release)


@pytest.mark.parametrize(
    ("release", "suite"),
    [
        ({"ID": "debian", "VERSION_CODENAME": "bookworm"}, "bookworm"),
        ({"ID": "ubuntu", "ID_LIKE": "debian", "VERSION_CODENAME": "noble", "UBUNTU_CODENAME": "noble"}, "noble"),
        ({"ID": "mint", "ID_LIKE": "ubuntu debian", "VERSION_CODENAME": "wilma", "UBUNTU_CODENAME": "noble"}, "noble"),
        ({"ID": "mint", "ID_LIKE": "debian", "VERSION_CODENAME": "faye", "DEBIAN_CODENAME": "bookworm"}, "bookworm"),
    ],
)
def test_the_suite_is_that_of_the_archive_whose_packages_it_has(
    release: Release, suite: str, machine_of: Callable[[Release], None]
) -> None:
    machine_of(release)
    assert apt.codename() == suite
    assert distribution.how_to_install(["fio"]) == "apt install fio"


def test_without_apt_what_is_missing_is_named_and_nothing_is_run_for_it(
    machine_of: Callable[[Release], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_of(ROCKY)
    monkeypatch.setattr("redolab.machine.processes.which", lambda program: None)
    monkeypatch.setattr("redolab.machine.processes.run", lambda *given, **options: pytest.fail(f"{given} was run"))
    tools = Tools(tmp_path / "tools", Journal(tmp_path / "journal"))
    with pytest.raises(LabError) as refused:
        tools.require(["bwrap", "sysbench"], QUIET)
    assert refused.value.remedy == "install bubblewrap sysbench"
    assert not (tmp_path / "tools").exists()


@pytest.mark.parametrize(
    ("release", "cannot"),
    [(ROCKY, server_catalogue().names()), ({"ID": "ubuntu"}, ["mysql-9", "mariadb-10.5", "mariadb-11.8"])],
)
def test_servers_that_cannot_be_made_there_are_refused(
    release: Release, cannot: list[str], machine_of: Callable[[Release], None]
) -> None:
    machine_of(release)
    refused = []
    for name, entry in server_catalogue().items():
        try:
            entry.source.check_here()
        except LabError:
            refused.append(name)
    assert refused == cannot


def test_doctor_names_what_to_install_and_whether_a_run_is_possible(
    machine_of: Callable[[Release], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def examined(release: Release) -> tuple[dict[str, Examination], bool]:
        machine_of(release)
        diagnosis = examine(64 * 2**20)
        return {each.what: each for each in diagnosis.examined}, diagnosis.fit

    monkeypatch.setattr(type(PROJECT), "lab", property(lambda _: tmp_path / "lab"))
    monkeypatch.setattr("redolab.machine.tools.Tools.find", lambda tools, name: None)
    known, fit = examined(ROCKY)
    assert not fit
    assert {name for name, each in known.items() if each.verdict == "LACKING"} == {"bwrap", "sysbench"}
    assert (known["servers"].verdict, known["sysbench"].remedy) == ("limits", "install sysbench")
    known, _ = examined({"ID": "debian"})
    assert known["bwrap"].verdict == "limits"
