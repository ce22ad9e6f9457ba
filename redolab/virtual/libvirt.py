"""The libvirt that runs the guest: the system's where it runs, else the lab's own in namespaces of its own.

What its daemons make (bridge, leases, taps, images) is then under one folder and in one network namespace, and goes with them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput, LabError
from redolab.machine import files, processes
from redolab.machine.processes import Command, ProcessIdentity
from redolab.progress import Progress

_URI = "qemu:///system"
_SCRIPT = Path(__file__).with_name("house.sh")
_STARTS_WITHIN = 60.0
_ANSWERS_WITHIN = 20.0


class _Keeper(msgspec.Struct, frozen=True):
    """The process that keeps the namespaces."""

    pid: int
    started: float


class Libvirt:
    """libvirt as the lab finds it, or as it runs it itself; `folder` is where its own then lies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def words(self) -> Sequence[str]:
        """What to put before a command so that it runs where libvirt does."""
        inside = self._inside()
        if inside is None:
            return []
        return ["nsenter", f"--target={inside.pid}", "--mount", "--net", "--pid", "--"]

    @property
    def is_own(self) -> bool:
        """Whether it is the lab's own that runs."""
        return self._inside() is not None

    def answers(self) -> bool:
        """Whether it can be asked."""
        if processes.which("virsh") is None:
            return False
        return processes.run(self.virsh("version"), seconds=_ANSWERS_WITHIN, check=False).status == 0

    def virsh(self, *words: str) -> Command:
        """The command that asks it something, or has it do something."""
        return Command([*self.words, "virsh", "--quiet", f"--connect={_URI}", *words])

    def start(self, progress: Progress) -> None:
        """Have one that answers. Raises `LabError`."""
        if self.answers():
            return
        if not processes.is_root():
            raise InvalidInput(
                "libvirt does not answer, and only root may start it",
                "start it ('systemctl start libvirtd'), or add yourself to the group libvirt",
            )
        self.stop()
        with progress.stage("starting libvirt in a network namespace of its own", brief=True):
            self._start_own()

    def stop(self) -> None:
        """End the lab's own, with all that runs under it; the system's stays."""
        keeper = self._keeper()
        if keeper is not None:
            processes.kill(keeper)
            deadline = time.monotonic() + _STARTS_WITHIN
            while processes.is_running(keeper) and time.monotonic() < deadline:
                time.sleep(0.05)
        files.remove(self._note)

    def remove(self) -> None:
        """End the lab's own, and remove what it has kept: networks, images, the guests it knows."""
        self.stop()
        files.remove(self._folder)

    @property
    def has_kept(self) -> bool:
        """Whether the lab's own was ever started, and what it has kept is there."""
        return self._folder.exists()

    @property
    def _note(self) -> Path:
        return self._folder / "keeper.json"

    @property
    def _log(self) -> Path:
        return self._folder / "libvirt.log"

    def _start_own(self) -> None:
        files.make_folder(self._folder)
        said = self._folder / "keeper.pid"
        files.remove(said)
        # It outlives the lab: the guest is up until it is halted. The shell's process becomes the one that keeps the namespaces.
        script = (
            'echo $$ >"$1.new"; mv "$1.new" "$1"; '
            'exec unshare --mount --net --pid --fork --kill-child --mount-proc -- sh "$2" "$3" >"$4" 2>&1 </dev/null'
        )
        outer = ["setsid", "--fork", "sh", "-c", script, "sh"]
        words = [*outer, str(said), str(_SCRIPT), str(self._folder), str(self._log)]
        processes.run(Command(["sh", "-c", '"$@" >/dev/null 2>&1 </dev/null', "sh", *words]), to_its_end=True)
        deadline = time.monotonic() + _STARTS_WITHIN
        while not (said.exists() and self.answers()):
            if said.exists() and self._keeper() is None:
                keeper = processes.identity(int(said.read_text()))
                if keeper is None:
                    break
                files.write_whole(self._note, msgspec.json.encode(_Keeper(keeper.pid, keeper.started)))
            if time.monotonic() > deadline or (self._note.exists() and self._keeper() is None):
                break
            time.sleep(0.2)
        if not self.answers():
            last = self._log.read_text(errors="replace").splitlines()[-5:] if self._log.exists() else []
            self.stop()
            raise LabError("libvirt could not be started", "see 'redolab doctor'", details=last)

    def _keeper(self) -> ProcessIdentity | None:
        """The process that keeps the namespaces, if it is there."""
        try:
            noted = msgspec.json.decode(self._note.read_bytes(), type=_Keeper)
        except (OSError, msgspec.DecodeError):
            return None
        identity = ProcessIdentity(noted.pid, noted.started)
        return identity if processes.is_running(identity) else None

    def _inside(self) -> ProcessIdentity | None:
        """The first process in the namespaces."""
        keeper = self._keeper()
        if keeper is None:
            return None
        return next(iter(processes.children(keeper)), None)
