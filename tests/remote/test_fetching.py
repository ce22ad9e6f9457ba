"""What another machine says and sends is as hostile as whoever has that machine: nothing of it lies outside the runs."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from redolab.errors import LabError
from redolab.remote.address import SshAddress
from redolab.remote.facts import Facts
from redolab.remote.fetching import Fetching
from redolab.remote.luggage import Luggage
from redolab.remote.machine import OtherMachine
from redolab.remote.ssh import Ssh
from redolab.units import MIB

JOB = "20260101-120000-000001"
OUTSIDE = "x/../../../outside"


def machine(folder: Path, **answers: bytes) -> OtherMachine:
    """One that answers a verb with these bytes, whatever it is asked."""
    for verb, answer in answers.items():
        (folder / verb).write_bytes(answer)
    # Called as `sh -c SCRIPT HOST COMMAND`: the verb stands in the command.
    script = f'for verb in {" ".join(answers)}; do case "$1" in *"redolab.remote.job $verb "*) cat "{folder}/$verb"; esac; done'
    facts = Facts(
        folder="/there", account="root", processor="x86_64", library=36, room=0, python="python3", version=(3, 11),
        there=[], is_foreign=False, is_full=False, executes=True,
    )  # fmt: skip
    return OtherMachine(SshAddress("there"), facts, Ssh("there", ["sh", "-c", script]), {"lab/x"})


def job(name: str) -> dict[str, object]:
    return {"id": name, "arguments": [], "by": "me", "started": "now", "alive": False, "status": 0}


def archive(entry: tarfile.TarInfo, content: bytes = b"") -> bytes:
    written = io.BytesIO()
    entry.size = len(content)
    with tarfile.open(fileobj=written, mode="w") as made:
        made.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def all_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.mark.parametrize("name", [OUTSIDE, "..", "", f"{JOB}\n", f"{JOB}/x", 7, None])
def test_a_jobs_name_is_none_that_leads_elsewhere(name: object, tmp_path: Path) -> None:
    hostile = machine(tmp_path, jobs=json.dumps([{**job(JOB), "id": name}]).encode(), start=f"{name}/".encode())
    with pytest.raises(LabError):
        hostile.jobs()
    luggage = Luggage("lab/x", tmp_path)
    with pytest.raises(LabError):
        hostile.start(luggage, luggage, ["run"])


@pytest.mark.parametrize("answer", [b"", b"{", b"[1]", b'{"a": 1}', b"\xff"])
def test_an_answer_that_makes_no_sense_is_an_error_of_that_machine(answer: bytes, tmp_path: Path) -> None:
    hostile = machine(tmp_path, jobs=answer, files=answer)
    with pytest.raises(LabError, match="there"):
        hostile.jobs()
    with pytest.raises(LabError, match="there"):
        hostile.run_files(JOB)


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "run/../../outside", "outside", "run/a\0b", "run/.."])
def test_a_file_of_a_run_lies_in_the_run(name: str, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    listed = json.dumps([[name, 1, 1]]).encode()
    with pytest.raises(LabError):
        Fetching(machine(tmp_path, files=listed, send=b""), JOB, runs).finish()
    # And what it lists is not what it sends.
    listed = json.dumps([["run/run.json", 1, 1]]).encode()
    sent = archive(tarfile.TarInfo(name.replace("\0", "")), b"x")
    with pytest.raises(LabError):
        Fetching(machine(tmp_path, files=listed, send=sent), JOB, runs).finish()
    assert {Path(name).parts[0] for name in all_files(runs)} <= {".fetching"}
    assert not (tmp_path / "outside").exists()


def test_what_is_large_is_fetched_when_the_job_has_ended(tmp_path: Path) -> None:
    """Sending it would be measured too."""
    large = 64 * MIB + 1
    listed = json.dumps([["run/evidence/ib_logfile0", large, 1]]).encode()
    sent = archive(tarfile.TarInfo("run/evidence/ib_logfile0"), bytes(large))
    runs = tmp_path / "runs"
    fetching = Fetching(machine(tmp_path, files=listed, send=sent), JOB, runs)
    fetching.fetch()
    assert not runs.exists()
    with pytest.raises(FileNotFoundError, match=r"run\.json"):
        fetching.finish()
    assert (runs / ".fetching" / f"there-{JOB}" / "run/evidence/ib_logfile0").stat().st_size == large


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_only_files_are_taken(kind: bytes, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of this machine")
    entry = tarfile.TarInfo("run/run.json")
    entry.type, entry.linkname = kind, str(tmp_path / "secret")
    listed = json.dumps([["run/run.json", 1, 1]]).encode()
    runs = tmp_path / "runs"
    with pytest.raises(LabError):
        Fetching(machine(tmp_path, files=listed, send=archive(entry)), JOB, runs).finish()
    assert all_files(runs) == []
