"""Running a server inside its root folder, as an unprivileged user, seeing nothing else of the machine (bubblewrap)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.clock import now
from redolab.errors import LabError, ServerFailed
from redolab.machine import files, processes
from redolab.machine.processes import Command, Process, ProcessIdentity
from redolab.machine.tools import Tool

INSTANCE = Path("/instance")
"""Folder of an instance as its server sees it: the same on every machine, so that no file names another path."""

SERVER_USER = 64747
"""User id of a server when the lab is root: outside the ranges that Debian hands out (Debian Policy 9.2.2)."""

NAMESPACES = "run as root, or allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0; of a container: --privileged)"
"""Advice for machines where bubblewrap may make no namespaces, as Ubuntu 24.04 without root."""

_PASSWD = f"root:x:0:0::/:/bin/false\nredolab:x:{SERVER_USER}:{SERVER_USER}::{INSTANCE}:/bin/false\n"
_GROUP = f"root:x:0:\nredolab:x:{SERVER_USER}:\n"
# A server that is to look up its clients' names finds them at once: what a name server takes is not what is measured.
_HOSTS = "127.0.0.1 localhost\n" + "".join(
    f"127.0.{network}.{host} client-{network}-{host}\n" for network in range(1, 6) for host in range(2, 252)
)
_NSSWITCH = "hosts: files\n"
_AS_ROOT = (
    # Otherwise a program that root starts keeps all rights over the machine in the sandbox. A server gives up root
    # itself, but before that it reads its option file, which belongs to its user. (bubblewrap 0.8 drops nothing if
    # CAP_SYS_RESOURCE is kept.)
    *("--cap-drop", "ALL"),
    *(part for kept in ("CAP_SETUID", "CAP_SETGID", "CAP_DAC_OVERRIDE") for part in ("--cap-add", kept)),
    # The kernel's settings are root's, whatever rights root has.
    *("--ro-bind", "/proc/sys", "/proc/sys"),
)
_START_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Files that a server sees: those of `system`, users of its own, each of `extra_folders` at its own path."""

    bubblewrap: Tool
    system: Path
    etc: Path
    extra_folders: Sequence[Path] = ()

    def prepare(self) -> None:
        """Write the few files of /etc that a server looks at."""
        files.write_whole(self.etc / "passwd", _PASSWD.encode())
        files.write_whole(self.etc / "group", _GROUP.encode())
        files.write_whole(self.etc / "hosts", _HOSTS.encode())
        files.write_whole(self.etc / "nsswitch.conf", _NSSWITCH.encode())

    def command(self, program: Path, arguments: Sequence[str], instance: Path | None = None) -> Command:
        """Return the command that runs `program` in the sandbox, with `instance` at /instance.

        The sandbox has a process namespace of its own. When it ends, every process in it ends: nothing that a server
        starts outlives the lab.
        """
        bindings = ["--bind", str(instance), str(INSTANCE)] if instance else []
        for folder in self.extra_folders:
            bindings += ["--ro-bind", str(folder), str(folder)]
        links = [part for name in ("bin", "sbin", "lib", "lib64") for part in ("--symlink", f"usr/{name}", f"/{name}")]
        wrapped = [
            str(self.bubblewrap.program),
            *("--die-with-parent", "--unshare-pid", "--unshare-net", "--unshare-ipc"),
            *("--ro-bind", str(self.system / "usr"), "/usr", "--ro-bind", str(self.etc), "/etc"),
            *links,
            *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
            # A server asks there which disks rotate and how large their blocks are. A MariaDB that cannot see it
            # takes every disk for a rotating one and (10.8 and later) does not write its redo log past the page
            # cache.
            *("--ro-bind", "/sys", "/sys"),
            *(_AS_ROOT if processes.is_root() else ()),
            *bindings,
            *("--chdir", "/", "--clearenv"),
            *("--", str(program), *arguments),
        ]
        return Command(wrapped, environment=self.bubblewrap.environment)

    def user_arguments(self) -> list[str]:
        """Return the arguments that make a server give up root."""
        return ["--user=redolab"] if processes.is_root() else []

    @staticmethod
    def owner() -> int | None:
        """Return the id of the user who owns an instance's files; None if the lab's own user keeps them."""
        return SERVER_USER if processes.is_root() else None

    def check(self) -> None:
        """Raise `LabError`, with advice, if this machine lets bubblewrap make no namespaces."""
        trial = [str(self.bubblewrap.program), "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "true"]
        done = processes.run(Command(trial, environment=self.bubblewrap.environment), check=False)
        if done.status != 0:
            raise LabError(f"bubblewrap can make no sandbox here ({done.err.strip()})", NAMESPACES)


def sandboxed_process(process: Process) -> ProcessIdentity:
    """Return the program inside a sandbox that was just started, below bubblewrap and the namespace's first process.

    Raises `ServerFailed` if the sandbox ends before the program is visible.
    """
    deadline = now().monotonic + _START_SECONDS
    while now().monotonic < deadline:
        for first in processes.children(process.identity):
            if inner := processes.children(first):
                return inner[0]
        if process.wait(0.002) is not None:
            break
    last = [line.text for line in process.lines(now().monotonic)][-5:]
    raise ServerFailed("the sandbox ended before the server in it had started", "see 'redolab doctor'", last)
