"""Servers in archives: a vendor's tarball, and what other kinds of source download.

Their binaries bring few libraries along; what they need besides is put under them from one Debian suite, so that an old
server does not depend on how new the machine is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from redolab.errors import LabError
from redolab.machine import files, processes
from redolab.machine.processes import Command
from redolab.machine.tools import Tools
from redolab.servers.sources.debian import DebianSource

SERVER = Path("usr/server")
"""Where in the root folder the archive's server goes."""

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
"""What the vendors' generic binaries for Linux are linked with."""

_INSIDE = "!/"
_WANTED = ("bin/mysqld", "bin/mariadbd", "lib/", "share/", "data/", "scripts/")
_PATIENCE = 1800.0


class ArchiveSource(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="tarball"
):
    """A vendor's generic Linux tarball: one folder with bin/ and share/ in it."""

    file: str
    sha256: str

    @property
    def about(self) -> str:
        """See the package."""
        return f"tarball {self.file}"

    @property
    def tools(self) -> list[str]:
        """See the package."""
        return []

    def fetch(self, tools: Tools, root: Path, work: Path) -> None:
        """See the package."""
        check_sum(Path(self.file), self.sha256)
        LIBRARIES.fetch(tools, root, work / "libraries")
        files.make_folder(root / SERVER)
        listed = processes.run(Command(["tar", "--list", "--file", self.file]), seconds=_PATIENCE).out.splitlines()
        wanted = [name for name in listed if name.partition("/")[2].startswith(_WANTED) and not name.endswith("/")]
        names = work / "wanted"
        files.write_whole(names, "\n".join(wanted).encode() + b"\n")
        extract = ["tar", "--extract", "--file", self.file, "--directory", str(root / SERVER), "--strip-components=1"]
        processes.run(Command([*extract, "--no-same-owner", "--files-from", str(names)]), seconds=_PATIENCE)


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
    # Jars keep no modes, and some archives keep those of whoever packed them.
    processes.run(Command(["chmod", "--recursive", "u+rwX,go+rX,go-w", str(root / SERVER)]))
    processes.run(Command(["sh", "-c", 'chmod 755 "$1"/bin/*', "sh", str(root / SERVER)]))


def check_sum(path: Path, expected: str) -> None:
    """Refuse a file that is not the one named. Raises `LabError`."""
    found = sha256(path)
    if found != expected:
        raise LabError(f"{path.name} has the SHA-256 {found} instead of {expected}", "do not trust it; fetch it again")


def sha256(path: Path) -> str:
    """A file's checksum."""
    return processes.run(Command(["sha256sum", str(path)])).out.split()[0]


def _unpack(archive: Path, to: Path) -> Path:
    if not to.exists():
        files.make_folder(to)
        if archive.suffix in (".jar", ".zip"):
            processes.run(Command(["python3", "-m", "zipfile", "--extract", str(archive), str(to)]))
        else:
            processes.run(
                Command(["tar", "--extract", "--no-same-owner", "--file", str(archive), "--directory", str(to)])
            )
    return to
