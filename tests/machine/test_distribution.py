"""Machines of other distributions: said by name what they lack, and what a person has to install."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from redolab.errors import LabError
from redolab.machine import apt, distribution
from redolab.machine.clean_up_journal import Journal
from redolab.machine.tools import PACKAGES, Tools
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.servers.catalogue import server_catalogue
from redolab.storage.disk_model import BUILD_PACKAGES
from redolab.upkeep.diagnosis import Examination, examine

ROCKY = """NAME="Rocky Linux"
VERSION="9.4 (Blue Onyx)"
ID="rocky"
ID_LIKE="rhel centos fedora"

PRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"
"""


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this machine says what it is."""
    file = tmp_path / "os-release"
    monkeypatch.setattr(distribution, "OS_RELEASE", file)
    return file


def test_debian_and_what_is_like_it_have_apt_and_of_others_packages_are_only_named(released: Path) -> None:
    for said in ("ID=debian\n", 'ID="ubuntu"\nID_LIKE=debian\n', "ID=linuxmint\nID_LIKE='ubuntu debian'\n"):
        released.write_text(said)
        assert distribution.has_apt()
        assert distribution.how_to_install(["fio", "maven"]) == "apt install fio maven"
    for said in (ROCKY, "ID=alpine\n", ""):
        released.write_text(said)
        assert not distribution.has_apt()
        assert distribution.how_to_install(["fio", "maven"]) == "install fio maven"
    released.unlink()
    assert distribution.names() == ["unknown"]


def test_what_is_missing_is_named_and_nothing_is_run_for_it(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released.write_text(ROCKY)
    monkeypatch.setattr("redolab.machine.processes.which", lambda program: None)
    monkeypatch.setattr("redolab.machine.processes.run", lambda *given, **options: pytest.fail(f"{given} was run"))
    tools = Tools(tmp_path / "tools", Journal(tmp_path / "journal"))
    with pytest.raises(LabError) as refused:
        tools.require(["bwrap", "sysbench"], Progress(Console()))
    assert str(refused.value) == (
        "this machine, rocky, lacks bubblewrap, sysbench, and the lab installs with apt alone: "
        "install bubblewrap sysbench"
    )
    with pytest.raises(LabError, match=r"rocky, lacks gcc, .*: install gcc libc6-dev"):
        tools.install(BUILD_PACKAGES, Progress(Console()))
    with pytest.raises(LabError, match="fio is not on this machine: install fio"):
        tools.get("fio")
    assert not (tmp_path / "tools").exists()


def test_no_server_of_the_catalogue_can_be_made_there(released: Path) -> None:
    released.write_text(ROCKY)
    for name, entry in server_catalogue().items():
        with pytest.raises(LabError, match=r"rocky, has no apt .* MACHINE=ssh:.* 'redolab server add NAME --path DIR'"):
            entry.source.check_here()
        assert name
    released.write_text("ID=ubuntu\n")
    cannot = []
    for name, entry in server_catalogue().items():
        try:
            entry.source.check_here()
        except LabError:
            cannot.append(name)
    assert cannot == ["mysql-9", "mariadb-10.5", "mariadb-11.8"]
    with pytest.raises(KeyError):
        apt.codename()


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


def examined(released: Path, said: str) -> tuple[dict[str, Examination], bool]:
    released.write_text(said)
    diagnosis = examine(64 * 2**20)
    return {each.what: each for each in diagnosis.examined}, diagnosis.fit


def test_doctor_says_there_what_to_install_and_whether_a_run_is_possible(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(PROJECT), "lab", property(lambda _: tmp_path / "lab"))
    known, fit = examined(released, ROCKY)
    assert "no apt of Debian or Ubuntu" in known["packages"].found
    assert known["servers"].found == f"cannot be had: {', '.join(server_catalogue().names())}"
    assert (known["servers"].verdict, "MACHINE=ssh:" in known["servers"].remedy) == ("limits", True)
    assert fit == all(known[name].fit for name in ("bwrap", "sysbench", "sandbox", "memory", "disk"))

    monkeypatch.setattr("redolab.machine.tools.Tools.find", lambda tools, name: None)
    known, fit = examined(released, ROCKY)
    assert not fit
    assert {name for name, each in known.items() if each.verdict == "LACKING"} == {"bwrap", "sysbench"}
    assert known["sysbench"].remedy == "install sysbench"

    known, fit = examined(released, "ID=debian\n")
    assert set(PACKAGES) < set(known)
    assert known["bwrap"].verdict == "limits"
    assert known["servers"].found == f"can be had: {', '.join(server_catalogue().names())}"
