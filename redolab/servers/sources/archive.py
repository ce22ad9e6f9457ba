"""Servers in archives: a vendor's tarball, and what other kinds of source download.

Their binaries bring few libraries along; what they need besides is put under them from one Debian suite, so that an old
server does not depend on how new the machine is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from redolab.errors import LabError
from redolab.hosts import Command, Host
from redolab.servers.sources.debian import DebianSource
from redolab.tools import Tools

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

    def fetch(self, host: Host, tools: Tools, root: Path, work: Path) -> None:
        """See the package."""
        check_sum(host, Path(self.file), self.sha256)
        LIBRARIES.fetch(host, tools, root, work / "libraries")
        host.files.make_folder(root / SERVER)
        listed = host.run(Command(["tar", "--list", "--file", self.file]), seconds=_PATIENCE).out.splitlines()
        wanted = [name for name in listed if name.partition("/")[2].startswith(_WANTED) and not name.endswith("/")]
        names = work / "wanted"
        host.files.write(names, "\n".join(wanted).encode() + b"\n")
        extract = ["tar", "--extract", "--file", self.file, "--directory", str(root / SERVER), "--strip-components=1"]
        host.run(Command([*extract, "--no-same-owner", "--files-from", str(names)]), seconds=_PATIENCE)


def unpack_members(host: Host, archive: Path, members: Mapping[str, str], root: Path, work: Path) -> None:
    """Put parts of an archive where a server wants them.

    `members`: path in the archive → path in `root`; `inner.jar!/share` is the folder `share` of an archive within it.
    """
    outer = _unpack(host, archive, work / "unpacked")
    for member, place in members.items():
        archive_name, inside, path = member.rpartition(_INSIDE)
        folder = _unpack(host, outer / archive_name, work / "unpacked-inner" / archive_name) if inside else outer
        to = root / place
        host.files.make_folder(to.parent)
        host.run(Command(["cp", "--recursive", "--no-target-directory", str(folder / path), str(to)]))
    # Jars keep no modes, and some archives keep those of whoever packed them.
    host.run(Command(["chmod", "--recursive", "u+rwX,go+rX,go-w", str(root / SERVER)]))
    host.run(Command(["sh", "-c", 'chmod 755 "$1"/bin/*', "sh", str(root / SERVER)]))


def check_sum(host: Host, path: Path, expected: str) -> None:
    """Refuse a file that is not the one named. Raises `LabError`."""
    found = sha256(host, path)
    if found != expected:
        raise LabError(f"{path.name} has the SHA-256 {found} instead of {expected}", "do not trust it; fetch it again")


def sha256(host: Host, path: Path) -> str:
    """A file's checksum."""
    return host.run(Command(["sha256sum", str(path)])).out.split()[0]


def _unpack(host: Host, archive: Path, to: Path) -> Path:
    if not host.files.exists(to):
        host.files.make_folder(to)
        if archive.suffix in (".jar", ".zip"):
            host.run(Command(["python3", "-m", "zipfile", "--extract", str(archive), str(to)]))
        else:
            host.run(Command(["tar", "--extract", "--no-same-owner", "--file", str(archive), "--directory", str(to)]))
    return to
