"""Servers in archives: a vendor's tarball, and downloads of other kinds of source.

The binaries bring few libraries along. The others come from one Debian suite, so that an old server does not depend
on the age of the machine.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec

from redolab.errors import LabError
from redolab.machine import files, processes
from redolab.machine.processes import Command
from redolab.machine.tools import Tools
from redolab.servers.sources.debian import DebianSource

SERVER = Path("usr/server")
"""Folder of the archive's server, relative to the root folder."""

LIBRARIES = DebianSource(
    suite="bookworm",
    ubuntu_suite="jammy",
    packages=[
        "libc6",
        "libstdc++6",
        "libgcc-s1",
        "libcrypt1",
        "zlib1g",
        "libaio1",
        "libnuma1",
        "libsystemd0",
        "libssl3",
    ],
)
"""Libraries that the vendors' generic Linux binaries are linked with."""

_INSIDE = "!/"
_WANTED = ("bin/mysqld", "bin/mariadbd", "lib", "share", "data", "scripts")
"""Files and folders of a server's, in the top folder of its tarball."""
_HARMLESS = "u+rwX,go+rX,go-w,a-s,a-t"
"""Mode for `chmod` that takes away all rights which an archive's modes could give to others."""
_PATIENCE = 1800.0


class ArchiveSource(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="tarball"
):
    """A vendor's generic Linux tarball: one folder with bin/ and share/ in it."""

    tools: ClassVar[Sequence[str]] = ()
    file: str
    sha256: str

    @property
    def about(self) -> str:
        """Return a description of the source."""
        return f"tarball {self.file}"

    def check_here(self) -> None:
        """Raise `LabError` if this machine's distribution lacks the libraries."""
        LIBRARIES.check_here()

    def fetch(self, tools: Tools, root: Path, work: Path) -> None:
        """Check the tarball's SHA-256, fetch the libraries and unpack the server."""
        check_sum(Path(self.file), self.sha256)
        LIBRARIES.fetch(tools, root, work / "libraries")
        unpack_server(Path(self.file), root / SERVER)


def unpack_server(tarball: Path, to: Path) -> None:
    """Unpack the needed parts of a vendor's tarball, without its top folder. Raises `LabError`."""
    inside = names_in(tarball)
    # Patterns of ours: no name that a tarball brings is handed on.
    wanted = [f"*/{part}" for part in _WANTED if any(name == part or name.startswith(f"{part}/") for name in inside)]
    # Closed to other users until the content is known to be harmless.
    files.make_folder(to, mode=0o700)
    how = ["--strip-components=1", "--anchored", "--wildcards", "--no-wildcards-match-slash"]
    _extract(tarball, to, [*how, *wanted])
    make_harmless(to)


def names_in(tarball: Path) -> set[str]:
    """Return the names in a tarball, without its top folder, escaped as tar does. Raises `CommandFailed`."""
    listed = processes.run(_tar(tarball, "--list"), seconds=_PATIENCE).out.splitlines()
    return {name.partition("/")[2] for name in listed}


def make_harmless(folder: Path) -> None:
    """Remove dangerous modes in an unpacked folder. Raises `LabError` if it has a device, or a link to the outside."""
    whole = folder.resolve()
    for at, folders, others in os.walk(folder):
        for path in (Path(at) / name for name in [*folders, *others]):
            kind = path.lstat().st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)):
                raise LabError(f"the archive has {_within(path, folder)}, a device", "do not trust it")
            if stat.S_ISLNK(kind) and not _target(path).is_relative_to(whole):
                raise LabError(
                    f"the archive has {_within(path, folder)}, a link to {str(path.readlink())!r} outside of it",
                    "do not trust it",
                )
    processes.run(Command(["chmod", "--recursive", _HARMLESS, str(folder)]))


def unpack_members(archive: Path, members: Mapping[str, str], root: Path, work: Path) -> None:
    """Put parts of an archive where a server wants them.

    `members`: path in the archive → path in `root`; `inner.jar!/share` is the folder `share` of an archive within it.
    """
    outer = _unpack(archive, work / "unpacked")
    for member, place in members.items():
        archive_name, inside, path = member.rpartition(_INSIDE)
        folder = _unpack(outer / archive_name, work / "unpacked-inner" / archive_name) if inside else outer
        to = root / place
        files.make_folder(to.parent)
        processes.run(Command(["cp", "--recursive", "--no-target-directory", str(folder / path), str(to)]))
    make_harmless(root / SERVER)
    # Jars keep no modes.
    processes.run(Command(["sh", "-c", 'chmod 755 "$1"/bin/*', "sh", str(root / SERVER)]))


def check_sum(path: Path, expected: str) -> None:
    """Refuse a file that is not the one named. Raises `LabError`."""
    found = sha256(path)
    if found != expected:
        raise LabError(f"{path.name} has the SHA-256 {found} instead of {expected}", "do not trust it; fetch it again")


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tar(archive: Path, what: str, *arguments: str) -> Command:
    # The path is absolute: a name may begin like an option. Without the first option, a colon would name another
    # host.
    return Command(["tar", "--force-local", what, "--file", str(archive.absolute()), *arguments])


def _extract(archive: Path, to: Path, which: Sequence[str] = ()) -> None:
    processes.run(_tar(archive, "--extract", "--no-same-owner", "--directory", str(to), *which), seconds=_PATIENCE)


def _target(link: Path) -> Path:
    """Return the path that a link finally points to."""
    try:
        return link.resolve()
    except (OSError, RuntimeError):
        # Python 3.12 and earlier, on links that go round in a circle.
        return link.absolute()


def _within(path: Path, folder: Path) -> str:
    return repr(str(path.relative_to(folder)))


def _unpack(archive: Path, to: Path) -> Path:
    if not to.exists():
        files.make_folder(to)
        if archive.suffix in (".jar", ".zip"):
            processes.run(Command(["python3", "-m", "zipfile", "--extract", str(archive), str(to)]))
        else:
            _extract(archive, to)
    return to
