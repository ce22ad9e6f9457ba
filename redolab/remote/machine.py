"""A machine that is reached by SSH, with the lab on it: what is there, and jobs on it."""

from __future__ import annotations

import getpass
import shlex
import shutil
import socket
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Annotated, TypeVar

import msgspec

from redolab.errors import Busy, DiskFull, LabError
from redolab.machine import files, lab_folder
from redolab.progress import Progress, Stage
from redolab.project import PROJECT
from redolab.remote import job
from redolab.remote.address import MachineAddress, VagrantAddress
from redolab.remote.facts import PROBE, Facts, facts_from
from redolab.remote.luggage import LAB_FOLDER, Luggage, environment_of
from redolab.remote.ssh import Ssh, connected, last_line, usual_program
from redolab.units import format_size
from redolab.upkeep.cleaning import YES
from redolab.virtual.vagrant import Guest

_MARK = "redolab-machine.json"
"""In the lab's folder on a machine: what has it is ours to remove."""
_LOCK = ".visit"
_LAST = ".redolab-last"
"""What ends a copy."""
_OURS = ("packages", "lab", LAB_FOLDER, "own", "runs", "jobs", _LOCK, _MARK)
"""All that the lab makes in its folder there."""
_PATIENCE = 1800.0
_SLACK = 1.1
"""Of the bytes to be copied: what file systems take besides."""


T = TypeVar("T")

JobId = Annotated[str, msgspec.Meta(pattern=r"^\d{8}-\d{6}-\d{6}\Z")]
"""As `redolab.remote.job` gives it. Folders here are named for it, and the machine may be anybody's."""
FileName = Annotated[str, msgspec.Meta(pattern=r"^[^\0]+\Z")]


class RemoteJob(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the lab on that machine."""

    id: JobId
    arguments: Sequence[str]
    by: str
    """Who asked for it, and from which machine."""
    started: str
    alive: bool
    fetched: bool = False
    """Whether whoever asked for it has all that it made."""
    status: int | None
    """Its exit status; None while it runs, `redolab.remote.job.ENDED_UNSEEN` if nobody saw its end."""


class RemoteFile(msgspec.Struct, frozen=True, array_like=True):
    """A file of a run there."""

    name: FileName
    """Its path under the folder of the runs."""
    size: int
    changed: int
    """Nanoseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class OtherMachine:
    """A machine that is connected."""

    address: MachineAddress
    facts: Facts
    _ssh: Ssh
    _there: set[str]
    """What has been copied there, by this visit or an earlier one."""

    @property
    def host(self) -> str:
        """As ssh knows it."""
        return self.address.host

    def bring(self, luggage: Luggage, progress: Progress) -> None:
        """Copy a folder there, unless it is there. Raises `DiskFull`, `LabError`."""
        if luggage.mark in self._there:
            return
        room = int(files.folder_size(luggage.folder) * _SLACK)
        if room > self.facts.room:
            raise DiskFull(
                f"{self.host}: {self.facts.folder} has {format_size(self.facts.room)} free, and {luggage.name} takes {format_size(room)}",
                f"name a folder on a larger disk: ssh:{self.host}:/some/folder",
            )
        to = f"{self.facts.folder}/{luggage.name}"
        partial = f"{to}.partial"
        unpack = (
            f"rm -rf {shlex.quote(partial)} && mkdir -p {shlex.quote(partial)} && tar -C {shlex.quote(partial)} -xf - "
            # tar takes a stream that breaks off between two files for whole.
            f"&& rm {shlex.quote(f'{partial}/{_LAST}')} && rm -rf {shlex.quote(to)} && mv {shlex.quote(partial)} {shlex.quote(to)}"
        )
        title = f"copying {luggage.name.rpartition('/')[2] if 'servers' in luggage.name else 'the lab'} to {self.host}"
        with progress.stage(title) as stage, self._ssh.feeding(["sh", "-c", unpack]) as pipe:
            _pack(luggage.folder, pipe, stage, room)
            stage.outcome = format_size(room)
        self._there.add(luggage.mark)

    def forget_all_but(self, *kept: Luggage) -> None:
        """Remove what was copied there before and is of no use now. Only where no job runs."""
        names = {luggage.name for luggage in kept}
        kinds = {name.partition("/")[0] for name in names}
        old = [name for name in self._there if name.partition("/")[0] in kinds and name not in names]
        if old:
            self._checked(["rm", "-rf", *(f"{self.facts.folder}/{name}" for name in old)])
        self._there.difference_update(old)

    def write(self, name: str, content: bytes | None) -> None:
        """Write a small file under the lab's folder there; None: it is not to be there."""
        path = f"{self.facts.folder}/{name}"
        folder = path.rpartition("/")[0]
        how = (
            f"mkdir -p {shlex.quote(folder)} && cat > {shlex.quote(path)}"
            if content is not None
            else f"rm -f {shlex.quote(path)}"
        )
        self._checked(["sh", "-c", how], content or b"")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While in it: nobody else copies to this machine, starts a job on it or cleans it. Raises `Busy` if somebody does."""
        folder = shlex.quote(self.facts.folder)
        hold = f"mkdir -p {folder} && exec flock --nonblock {folder}/{_LOCK} sh -c 'echo held; cat >/dev/null'"
        with self._ssh.holding(["sh", "-c", hold]) as said:
            if said.strip() != b"held":
                raise Busy(f"{self.host}: somebody else copies the lab there at this moment", "try again in a minute")
            for each in self.jobs():
                if each.alive:
                    raise self.busy(each)
            yield

    def start(
        self, lab: Luggage, packages: Luggage, arguments: Sequence[str], experiments: Luggage | None = None
    ) -> str:
        """Start the lab there with these arguments; the job's id. Raises `Busy` if another has the machine."""
        asked = job.JobRequest(
            arguments=arguments,
            command=[self.facts.python, "-m", "redolab", *arguments],
            environment=environment_of(
                self.facts.folder,
                packages.name,
                lab.name,
                str(self.address),
                experiments.name if experiments else None,
            ),
            by=asker(),
            terminal=_terminal(),
        )
        said = self._ssh.run(self._job("start", lab=lab.name), msgspec.json.encode(asked))
        if said.status == job.BUSY:
            raise self.busy(self.jobs()[-1])
        if said.status:
            raise LabError(f"{self.host}: the lab could not be started there", details=said.err.splitlines()[-12:])
        return self._understood(said.out.strip(), JobId)

    @contextmanager
    def following(self, job_id: str, offset: int) -> Iterator[BufferedReader]:
        """While in it: all that a job prints from an offset, until it has ended."""
        with self._ssh.reading(self._job("follow", job_id, str(offset))) as stream:
            yield stream

    def stop(self, job_id: str) -> None:
        """Have a job end as by Ctrl-C."""
        self._checked(self._job("stop", job_id))

    def jobs(self) -> list[RemoteJob]:
        """Every job, oldest first; none where the lab never was."""
        if self._any("lab/") is None:
            return []
        return self._answer(list[RemoteJob], self._job("jobs"))

    def busy(self, other: RemoteJob) -> Busy:
        """The error to raise when another job has the machine."""
        what = f"redolab {' '.join(other.arguments)}"
        return Busy(
            f"{self.host}: {other.by} has it since {other.started} ({what})",
            f"wait for it: 'redolab attach {self.address}' shows it",
        )

    def run_files(self, job_id: str) -> list[RemoteFile]:
        """The files of the runs that a job has made or gone on with."""
        return self._answer(list[RemoteFile], self._job("files", job_id))

    @contextmanager
    def sending(self, names: Sequence[str]) -> Iterator[BufferedReader]:
        """While in it: these files of the runs, as a tar archive."""
        with self._ssh.reading(self._job("send"), msgspec.json.encode(names)) as stream:
            yield stream

    def note_fetched(self, job_id: str) -> None:
        """Note there that all that a job made has been fetched."""
        self._checked(self._job("fetched", job_id))

    def has_lab(self) -> bool:
        """Whether the folder there is one that the lab has made."""
        return self._ssh.run(["test", "-e", f"{self.facts.folder}/{_MARK}"]).status == 0

    def mark(self) -> None:
        """Note there that the folder is the lab's, and the one in it where the lab works too: servers are brought before it is opened."""
        self.write(_MARK, msgspec.json.encode({"made_by": asker()}))
        self.write(f"{LAB_FOLDER}/{lab_folder.MARK}", lab_folder.SAYS.encode())

    def remove_lab(self) -> None:
        """Remove all that the lab has made there, and the folder if it is empty then."""
        # What was mounted in it, or unpacked to be a server, goes by the lab's own clean-up: only that knows of it.
        if (lab := self._any("lab/")) and (packages := self._any("packages/")):
            # Not an option: the lab there may be older than the one that asks.
            environment = {**environment_of(self.facts.folder, packages, lab, str(self.address)), YES: "1"}
            assigned = [f"{name}={value}" for name, value in environment.items()]
            self._checked(["env", *assigned, self.facts.python, "-m", "redolab", "clean"], seconds=_PATIENCE)
        ours = [f"{self.facts.folder}/{name}" for name in _OURS]
        self._checked(["rm", "-rf", "--one-file-system", *ours], seconds=_PATIENCE)
        self._ssh.run(["rmdir", self.facts.folder])

    def _any(self, kind: str) -> str | None:
        """The name of a whole one that was copied there."""
        whole = [name for name in self._there if name.startswith(kind) and not name.endswith(".partial")]
        return max(whole, default=None)

    def _job(self, verb: str, *rest: str, lab: str | None = None) -> list[str]:
        """The words for `redolab.remote.job` there."""
        found = lab or self._any("lab/")
        where = [f"PYTHONPATH={self.facts.folder}/{found}", "PYTHONDONTWRITEBYTECODE=1"]
        return ["env", *where, self.facts.python, "-m", "redolab.remote.job", verb, self.facts.folder, *rest]

    def _answer(self, kind: type[T], arguments: Sequence[str]) -> T:
        """What a command there answers as JSON. Raises `LabError` if that is nothing of this kind."""
        said = self._checked(arguments)
        try:
            return self._understood(msgspec.json.decode(said), kind)
        except msgspec.DecodeError as error:
            raise self._senseless(error) from error

    def _understood(self, content: object, kind: type[T]) -> T:
        try:
            return msgspec.convert(content, kind)
        except msgspec.ValidationError as error:
            raise self._senseless(error) from error

    def _senseless(self, error: Exception) -> LabError:
        return LabError(f"{self.host}: the lab there answers what makes no sense ({error})", "do not trust it")

    def _checked(self, arguments: Sequence[str], standard_input: bytes = b"", *, seconds: float = 120.0) -> bytes:
        said = self._ssh.run(arguments, standard_input, seconds=seconds)
        if said.status:
            raise LabError(f"{self.host}: {last_line(said.err) or 'a command there ended with an error'}")
        return said.out.encode()


@contextmanager
def reached(address: MachineAddress, progress: Progress) -> Iterator[OtherMachine]:
    """While in it: a machine that is connected, and is known to be able to run the lab. Raises `LabError`."""
    with connected(address.host, _program(address)) as ssh:
        with progress.stage(f"looking at {address.host}", brief=True):
            said = ssh.run(["sh", "-s", "--", *([address.folder] if address.folder else [])], PROBE.read_bytes())
        if said.status:
            raise LabError(f"{address.host}: {last_line(said.err) or 'its shell does not work'}")
        facts = facts_from(said.out, address.host)
        yield OtherMachine(address, facts, ssh, set(facts.there))


def _program(address: MachineAddress) -> Sequence[str]:
    """What to call for ssh. Raises `LabError` if the virtual machine is not up."""
    if isinstance(address, VagrantAddress):
        return Guest.of_settings(address.provider).ssh_words()
    return usual_program()


def asker() -> str:
    """Who asks, and from which machine."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def own_files() -> Mapping[str, bytes | None]:
    """What the user has of their own here, and what it is called there."""
    return {
        "own/servers.json": PROJECT.own_servers.read_bytes() if PROJECT.own_servers.exists() else None,
        "own/storage.toml": PROJECT.own_storage.read_bytes() if PROJECT.own_storage.exists() else None,
    }


def _pack(folder: Path, pipe: IO[bytes], stage: Stage, total: int) -> None:
    done = 0

    def note(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        nonlocal done
        done += entry.size
        stage.advance(done, total, f"{format_size(done)} of {format_size(total)}")
        # Whoever unpacks it as root is the owner there, not who made it here.
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(fileobj=pipe, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name, filter=note)
        archive.addfile(tarfile.TarInfo(_LAST))


def _terminal() -> tuple[int, int] | None:
    """Lines and columns of the terminal that the person looks at, if one does."""
    if not sys.stdout.isatty():
        return None
    size = shutil.get_terminal_size()
    return size.lines, size.columns
