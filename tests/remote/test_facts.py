"""What a person calls a machine, and what it says of itself."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from redolab.errors import InvalidInput, LabError
from redolab.remote.address import MachineAddress, SshAddress, VagrantAddress, parse_machine
from redolab.remote.facts import PROBE, facts_from

SAID = """folder=/srv/lab
account=dba
processor=x86_64
library=glibc 2.36
room=1000000
python=/usr/bin/python3 3.9
python=/usr/local/bin/python3.12 3.12
executes=yes
there=lab/abc
"""


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("local", None),
        ("vagrant", VagrantAddress()),
        ("vagrant:virtualbox", VagrantAddress("virtualbox")),
        ("ssh:db-spare", SshAddress("db-spare")),
        ("ssh:dba@10.0.0.7:/mnt/data/redolab", SshAddress("dba@10.0.0.7", "/mnt/data/redolab")),
    ],
)
def test_a_machine_is_read_and_written_alike(text: str, address: MachineAddress | None) -> None:
    assert parse_machine(text) == address
    if address is not None:
        assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", "moon", "ssh:", "ssh:-oProxyCommand=reboot", "ssh:a b", "ssh:host:relative", "ssh:h;reboot", "vagrant:"],
)
def test_what_is_no_machine_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is no machine"):
        parse_machine(text)


def test_the_first_python_that_is_new_enough_is_taken() -> None:
    facts = facts_from(SAID, "db-spare")
    assert (facts.python, facts.version) == ("/usr/local/bin/python3.12", (3, 12))
    assert (facts.folder, facts.library, facts.room, list(facts.there)) == ("/srv/lab", 36, 1_000_000, ["lab/abc"])


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (SAID.replace("3.12", "3.10"), "db-spare: its python3 is 3.10: the lab needs 3.11 or later"),
        (SAID.replace("python=", "snake="), "db-spare has no python3: install 3.11 or later there"),
        (SAID.replace("glibc 2.36", ""), "db-spare has no GNU C library"),
        ("refused=/srv/lab cannot be made\n", "db-spare: /srv/lab cannot be made: name a folder"),
        ("Welcome!\n", "db-spare does not say what it is"),
    ],
)
def test_a_machine_that_cannot_have_the_lab_is_refused(said: str, problem: str) -> None:
    with pytest.raises(LabError) as refused:
        facts_from(said, "db-spare")
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (
            SAID.replace("executes=yes\n", ""),
            "db-spare: programs in /srv/lab may not be executed (noexec): name another",
        ),
        (SAID + "foreign=yes\n", "db-spare: /srv/lab is not empty, and not of the lab's: name another folder"),
        (SAID.replace("executes=yes", "full=yes"), "db-spare: /srv/lab has no room left: name another folder"),
    ],
)
def test_a_folder_that_the_lab_cannot_be_brought_to_is_refused(said: str, problem: str) -> None:
    with pytest.raises(LabError) as refused:
        facts_from(said, "db-spare").check("db-spare")
    assert str(refused.value).startswith(problem)


def test_whoever_only_asks_leaves_no_folder(tmp_path: Path) -> None:
    said = subprocess.run(["sh", PROBE, str(tmp_path / "new")], capture_output=True, text=True, check=True).stdout
    assert facts_from(said, "this").executes
    assert list(tmp_path.iterdir()) == []


def test_the_probe_says_what_this_machine_is(tmp_path: Path) -> None:
    (tmp_path / "lab/abc").mkdir(parents=True)
    (tmp_path / "lab-folder/servers/mysql-9").mkdir(parents=True)
    (tmp_path / "lab-folder/servers/mysql-9/server.json").write_text("{}")
    said = subprocess.run(["sh", PROBE, str(tmp_path)], capture_output=True, text=True, check=True).stdout
    facts = facts_from(said, "this")
    assert facts.folder == str(tmp_path)
    made_from = hashlib.sha256(b"{}").hexdigest()
    assert list(facts.there) == ["lab/abc", f"lab-folder/servers/mysql-9 {made_from}"]
    assert facts.room > 0
    assert (facts.executes, facts.is_full, facts.is_foreign) == (True, False, True)
    assert not list(tmp_path.glob(".probe*"))
    (tmp_path / "redolab-machine.json").write_text("{}")
    again = subprocess.run(["sh", PROBE, str(tmp_path)], capture_output=True, text=True, check=True).stdout
    assert not facts_from(again, "this").is_foreign


def probed(folder: Path, path: str) -> None:
    subprocess.run(
        ["sh", "-s", "--", folder], input=PROBE.read_bytes(), check=False, capture_output=True,
        env={"PATH": path, "HOME": str(folder.parent)}, start_new_session=True,
    )  # fmt: skip


def test_who_only_asks_leaves_no_folder_not_even_where_the_connection_is_cut(tmp_path: Path) -> None:
    there, programs = tmp_path / "there", tmp_path / "bin"
    there.mkdir()
    programs.mkdir()
    # All of the session get it, as when a connection goes.
    (programs / "python3").write_text("#!/bin/sh\nkill -HUP 0\n")
    (programs / "python3").chmod(0o755)
    for path in ("/usr/bin:/bin", f"{programs}:/usr/bin:/bin"):
        probed(there / "deep/in/it/lab", path)
        assert list(there.rglob("*")) == []
    kept = there / "deep/photos"
    kept.mkdir(parents=True)
    probed(there / "deep/lab", "/usr/bin:/bin")
    probed(kept, "/usr/bin:/bin")
    assert sorted(there.rglob("*")) == [kept.parent, kept]
