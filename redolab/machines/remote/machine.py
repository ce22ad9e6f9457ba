"""A machine reached by SSH, with the lab on it: its facts, the files copied there, and jobs on it."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from redolab.errors import Busy, DiskFull, InvalidInput, LabError
from redolab.machine import lab_folder
from redolab.machine.lab_folder import YES
from redolab.machines.remote import agent
from redolab.machines.remote.address import MachineAddress
from redolab.machines.remote.ssh import Ssh, connected, last_line
from redolab.machines.virtual.vagrant import Guest
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.units import MIB, format_size

LAB_FOLDER = "lab-folder"
"""Folder of the lab that works there, in the folder of all that is brought there."""
_OURS = ("packages", "lab", LAB_FOLDER, "own", "runs", "jobs", agent.VISIT, agent.MARK)
"""Files and folders that the lab makes in its folder on the other machine."""
_OLDEST = (3, 11)
_FIND_PYTHON = (
    'for each in python3 python3.14 python3.13 python3.12 python3.11; do "$each" -c '
    f'\'import sys; sys.exit(sys.version_info < {_OLDEST})\' 2>/dev/null && exec "$each" - "$@"; done; exit 69'
)
_NO_PYTHON = 69
"""Exit status of `_FIND_PYTHON` where it finds none (EX_UNAVAILABLE of sysexits.h)."""
_AGENT = Path(agent.__file__).read_bytes()
_PATIENCE = 1800.0
_SLACK = 1.1
"""Bytes that a copy takes on a disk, as a multiple of its files."""

T = TypeVar("T")

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*\Z")]
"""Name of a job or a run there. Folders here get the name, so it is checked: the machine may be hostile."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of a machine and the lab's folder there, from `redolab.machines.remote.agent.look`."""

    folder: str
    processor: str
    library: str
    """Version of its GNU C library."""
    python: str
    version: tuple[int, int]
    room: int
    """Free bytes under the folder."""
    is_ours: bool
    has_lab: bool
    problem: str
    """Reason why the lab cannot be installed on the machine; empty if it can."""


class RemoteJob(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the lab on the other machine."""

    id: Name
    arguments: Sequence[str]
    by: str
    """User and machine that started the job."""
    started: str
    pid: int
    alive: bool
    fetched: bool
    """True if the job's owner has fetched all that it made."""
    status: int | None
    """Exit status; None while the job runs, and if its end was not recorded."""


@dataclass(frozen=True, slots=True)
class RemoteMachine:
    """Machine that is connected."""

    address: MachineAddress
    facts: Facts
    _ssh: Ssh

    @property
    def host(self) -> str:
        """Return the name for ssh."""
        return self.address.host

    def bring(self, paths: Sequence[str], name: str, what: str, progress: Progress, *excluded: str) -> None:
        """Copy files into the folder `name` on the machine, without those called `excluded`. Raises `DiskFull`, `LabError`.

        `paths` follow rsync: with a trailing slash, the content of a folder. Unchanged files are not sent.
        """
        words = ["-rlptH", "--delete", "--delay-updates", *(f"--exclude={each}" for each in ("__pycache__", *excluded))]
        words += [*paths, f"{self.host}:{self.facts.folder}/{name}/"]
        size = self._ssh.rsync(["--dry-run", *words])
        room = int(size * _SLACK)
        if room > self.facts.room:
            raise DiskFull(
                f"{self.host}: {self.facts.folder} has {format_size(self.facts.room)} free, and {what} takes {format_size(room)}",
                f"name a folder on a larger disk: ssh:{self.host}:/some/folder",
            )
        with progress.stage(f"copying {what} to {self.host}", brief=size < MIB) as stage:
            self._ssh.rsync(words, lambda done: stage.advance(done, size, f"of {format_size(size)}"))
            stage.outcome = format_size(size)

    def remove(self, name: str) -> None:
        """Remove the files that were copied there under a name."""
        self._checked(["rm", "-rf", f"{self.facts.folder}/{name}"])

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others from copying, starting jobs or cleaning on this machine within the block. Raises `Busy`."""
        # The lab's working folder is marked too: servers are copied into it before the lab opens it.
        script = (
            'mkdir -p "$1/$2/servers" && touch "$1/$3" && printf %s "$4" > "$1/$2/$5" '
            '&& exec flock --nonblock "$1/$6" sh -c "echo held; cat >/dev/null"'
        )
        there = [self.facts.folder, LAB_FOLDER, agent.MARK, lab_folder.NOTE, lab_folder.MARK, agent.VISIT]
        with self._ssh.holding(["sh", "-c", script, "sh", *there]) as first_line:
            if first_line != "held":
                raise Busy(f"{self.host}: somebody else copies the lab there at this moment", "try again in a minute")
            for each in self.jobs():
                if each.alive:
                    raise Busy(
                        f"{self.host}: {each.by} has it since {each.started} (redolab {' '.join(each.arguments)})",
                        f"wait for it: 'redolab attach {self.address}' shows it",
                    )
            yield

    def start(self, arguments: Sequence[str]) -> str:
        """Start the lab there with these arguments; return the job's id."""
        size = shutil.get_terminal_size()
        terminal = {"FORCE_COLOR": "1", "COLUMNS": str(size.columns), "LINES": str(size.lines)}
        request = {
            "arguments": arguments,
            "command": [self.facts.python, "-m", "redolab", *arguments],
            "environment": {**self._environment, **(terminal if sys.stdout.isatty() else {})},
            "by": asker(),
        }
        return self._answer(Name, "start", msgspec.json.encode(request).decode())

    def showing(self, job_id: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Run a program within the block that prints here all output of a job, until the job has ended."""
        # Wait for the lock, not for the process: it may stay a zombie in a container whose first process reaps no
        # children.
        script = 'flock --shared "$1" true & tail --bytes=+1 --follow --sleep-interval=0.2 --pid=$! "$2"; wait'
        own = f"{self.facts.folder}/jobs/{job_id}"
        return self._ssh.showing(["sh", "-c", script, "sh", f"{own}/{agent.ALIVE}", f"{own}/output"])

    def stop(self, job_id: str) -> None:
        """End a job as Ctrl-C does. A job that has ended is left alone."""
        if (job := self.job(job_id)).alive:
            self._ssh.run(["kill", "-INT", str(job.pid)])

    def jobs(self) -> list[RemoteJob]:
        """Return every job, oldest first."""
        return self._answer(list[RemoteJob], "jobs")

    def job(self, job_id: str) -> RemoteJob:
        """Return a job as it is now."""
        return next(each for each in self.jobs() if each.id == job_id)

    def runs(self, job_id: str) -> list[str]:
        """Return the names of the runs that a job has made or gone on with."""
        return self._answer(list[Name], "runs", job_id)

    def fetch(self, runs: Sequence[str], to: Path) -> None:
        """Copy the files and folders of these runs into the folder `to` here. Raises `LabError`."""
        there = [f"{self.host}:{self.facts.folder}/runs/{name}" for name in runs]
        self._ssh.rsync(["-rt", "--delete", "--partial-dir=.partial", "--exclude=.*", *there, f"{to}/"])

    def note_fetched(self, job_id: str) -> None:
        """Note there that all that a job made has been fetched."""
        self._checked(["touch", f"{self.facts.folder}/jobs/{job_id}/{agent.FETCHED}"])

    def remove_lab(self) -> None:
        """Remove all that the lab has made there, and the folder if it is empty then."""
        if self.facts.has_lab:
            # The lab's own clean-up removes mounts and unpacked servers: only it knows them.
            assigned = [f"{name}={value}" for name, value in {**self._environment, YES: "1"}.items()]
            self._checked(["env", *assigned, self.facts.python, "-m", "redolab", "clean"], seconds=_PATIENCE)
        ours = [f"{self.facts.folder}/{name}" for name in _OURS]
        self._checked(["rm", "-rf", "--one-file-system", *ours], seconds=_PATIENCE)
        self._ssh.run(["rmdir", self.facts.folder])

    @property
    def _environment(self) -> Mapping[str, str]:
        """Variables that the lab there is started with."""
        folder = self.facts.folder
        return {
            "PYTHONPATH": f"{folder}/lab:{folder}/packages",
            "PYTHONUNBUFFERED": "1",
            "REDOLAB_MACHINE": str(self.address),
            "REDOLAB_LAB": f"{folder}/{LAB_FOLDER}",
            "REDOLAB_RUNS": f"{folder}/runs",
            "REDOLAB_EXPERIMENTS": f"{folder}/own/{PROJECT.own_experiments.name if PROJECT.own_experiments else ''}",
            "REDOLAB_SERVERS": f"{folder}/own/{PROJECT.own_servers.name}",
            "REDOLAB_STORAGE": f"{folder}/own/{PROJECT.own_storage.name}",
            "TERM": os.environ.get("TERM", "dumb"),
        }

    def _answer(self, kind: type[T], verb: str, *rest: str) -> T:
        """Return the agent's answer. Raises `LabError`."""
        call = [self.facts.python, "-", verb, self.facts.folder, *rest]
        return _parsed(self.host, self._checked(call, _AGENT), kind)

    def _checked(self, arguments: Sequence[str], standard_input: bytes = b"", *, seconds: float = 120.0) -> str:
        output = self._ssh.run(arguments, standard_input, seconds=seconds)
        if output.status:
            raise LabError(f"{self.host}: {last_line(output.err) or 'a command there ended with an error'}")
        return output.out


@contextmanager
def reached(address: MachineAddress, progress: Progress) -> Iterator[RemoteMachine]:
    """Yield the machine, connected and with a Python for the lab. Raises `LabError`."""
    usual = shlex.split(os.environ.get("REDOLAB_SSH") or "ssh")
    program = Guest(address.provider).ssh_words() if address.is_guest else usual
    host = address.host
    with connected(host, program) as ssh:
        with progress.stage(f"looking at {host}", brief=True):
            output = ssh.run(["sh", "-c", _FIND_PYTHON, "sh", "look", address.folder], _AGENT)
        if output.status == _NO_PYTHON:
            raise InvalidInput(f"{host} has no Python {'.'.join(map(str, _OLDEST))} or later", "install one there")
        if output.status:
            raise LabError(f"{host}: {last_line(output.err) or 'its shell does not work'}")
        yield RemoteMachine(address, _parsed(host, output.out, Facts), ssh)


def asker() -> str:
    """Return who asks, and from which machine."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def _parsed(host: str, answer: str, kind: type[T]) -> T:
    """Parse a machine's answer in JSON. Raises `LabError` if it has another form."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError as error:
        raise LabError(f"{host}: the lab there answers what makes no sense ({error})", "do not trust it") from error
