"""A tarball is what anybody may have made: unpacking it writes nowhere else and runs nothing."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from redolab.errors import CommandFailed, LabError
from redolab.machine import files
from redolab.servers.own import entry_of_tarball
from redolab.servers.sources.archive import unpack_server

Member = tuple[tarfile.TarInfo, bytes]


def file(name: str, content: bytes = b"", mode: int = 0o755) -> Member:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    return member, content


def special(name: str, kind: bytes, linked: str = "") -> Member:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode = kind, linked, 0o777
    return member, b""


def link(name: str, to: str) -> Member:
    return special(name, tarfile.SYMTYPE, to)


SERVER = [file("vendor/bin/mysqld", b"program"), file("vendor/share/english/errmsg.sys", b"messages")]


def tarball_of(members: Sequence[Member], to: Path) -> Path:
    with tarfile.open(to, "w") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return to


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder into which no tarball may write."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def unpacked(tmp_path: Path, *members: Member) -> Path:
    to = tmp_path / "root/usr/server"
    unpack_server(tarball_of([*SERVER, *members], tmp_path / "vendor.tar"), to)
    return to


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names_that_are_options(outside: Path) -> list[str]:
    """Members' names that tar takes for options in a list of names; which of them depends on its version."""
    # Only what lies in lib/ of a folder is wanted: from there it goes up to the root, and down again.
    anywhere = f"/lib/../..{outside}"
    return [
        f"--directory={anywhere}",
        f"--to-command='touch {anywhere}/ran'",
        f"--checkpoint-action='exec=touch {anywhere}/ran'",
        f"--use-compress-program='touch {anywhere}/ran'",
    ]


@pytest.mark.parametrize("which", range(4))
def test_a_members_name_is_no_option(which: int, tmp_path: Path, outside: Path) -> None:
    hostile = names_that_are_options(outside)[which]
    with suppress(CommandFailed):
        unpacked(tmp_path, file(hostile), file("--checkpoint=1 --x/lib/x"), file("vendor/lib/z", b"z"))
    assert contents(outside) == {}


@pytest.mark.parametrize(
    "name", ["../outside/z", "vendor/lib/../../../../../../outside/z", "{outside}/z", "vendor/lib/{outside}/z"]
)
def test_no_member_goes_outside(name: str, tmp_path: Path, outside: Path) -> None:
    with suppress(LabError):
        unpacked(tmp_path, file(name.format(outside=outside)), file("vendor/lib/z", b"z"))
    assert contents(outside) == {}


@pytest.mark.parametrize(
    "links",
    [
        [link("vendor/share/charsets", "{outside}")],
        [link("vendor/share/charsets", "../../../../outside")],
        # Each looks as if it stayed inside.
        [file("vendor/lib/a/b/z"), link("vendor/lib/x", "a/b"), link("vendor/lib/y", "x/../../../../../../outside")],
        [link("vendor/data", "{outside}")],
        [special("vendor/lib/secret", tarfile.LNKTYPE, "{outside}/secret")],
        [special("vendor/lib/secret", tarfile.LNKTYPE, "vendor/../../../../outside/secret")],
    ],
)
def test_a_link_that_points_outside_is_refused(links: Sequence[Member], tmp_path: Path, outside: Path) -> None:
    (outside / "secret").write_bytes(b"of this machine")
    for member, _ in links:
        member.linkname = member.linkname.format(outside=outside)
    with pytest.raises(LabError):
        unpacked(tmp_path, *links)
    assert (outside / "secret").stat().st_nlink == 1


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_what_is_neither_file_nor_folder_nor_link_is_refused(kind: bytes, tmp_path: Path) -> None:
    with pytest.raises(LabError):
        unpacked(tmp_path, special("vendor/lib/disk", kind))


def test_a_program_gets_no_rights_from_a_tarball(tmp_path: Path) -> None:
    program = unpacked(tmp_path, file("vendor/lib/root", mode=0o6777)) / "lib/root"
    assert oct(stat.S_IMODE(program.stat().st_mode)) == oct(0o755)


def test_a_server_is_unpacked_with_links_that_stay_inside_and_names_of_any_kind(tmp_path: Path) -> None:
    odd = "vendor/lib/a\nb \\ c \xe9"
    members = [
        file("vendor/lib/liba.so.1", b"library", 0o644),
        link("vendor/lib/liba.so", "liba.so.1"),
        link("vendor/bin/mariadbd", "mysqld"),
        special("vendor/share/same", tarfile.LNKTYPE, "vendor/share/english/errmsg.sys"),
        file(odd, b"odd"),
        file("vendor/mysql-test/large", b"not wanted"),
        file("vendor/bin/mysqldump", b"not wanted"),
    ]
    server = unpacked(tmp_path, *members)
    assert contents(server) == {
        "bin/mysqld": b"program",
        "bin/mariadbd": b"program",
        "share/english/errmsg.sys": b"messages",
        "share/same": b"messages",
        "lib/liba.so.1": b"library",
        "lib/liba.so": b"library",
        odd.removeprefix("vendor/"): b"odd",
    }
    assert files.names(server.parent) == ["server"]


def test_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError):
        entry_of_tarball(tarball_of(SERVER, tmp_path / "vendor.tar"), "0" * 64)


def test_a_tarballs_own_name_is_neither_a_host_nor_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("host:vendor.tar", "-host:vendor.tar", "--checkpoint=1"):
        tarball = tarball_of(SERVER, Path(name))
        entry = entry_of_tarball(tarball, None)
        assert entry.program == "usr/server/bin/mysqld"
        unpack_server(tarball, tmp_path / f"unpacked {os.urandom(2).hex()}")
