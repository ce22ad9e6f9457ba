"""A folder as bytes: to be sent from one machine to another, or to be kept in one file."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from redolab.errors import LabError
from redolab.machine import files

_FASTEST = 1
"""Compression level of gzip: the fastest."""


def pack(folder: Path, excluded: Collection[str] = (), *, xz: bool = False) -> bytes:
    """Pack the files of a folder by gzip or `xz`, except the `excluded` relative paths.

    The same files give the same bytes.
    """
    packed = io.BytesIO()
    with _opened(packed, xz=xz) as archive:
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_file() and not path.is_symlink() and name not in excluded:
                archive.add(path, name, recursive=False, filter=_without_owner)
    return packed.getvalue()


def unpack(content: bytes, folder: Path, *, durable: bool = True) -> None:
    """Write the files of a packed folder; without `durable`, do not sync each of them to the disk.

    Raises `LabError` if the bundle is torn, or contains anything but files in that folder.
    """
    for name, written in _files_of(content):
        path = folder / name
        if durable:
            files.write_whole(path, written)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(written)


def _files_of(content: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as archive:
            for entry in archive:
                file = archive.extractfile(entry) if entry.isreg() else None
                path = PurePosixPath(entry.name)
                if file is None or path.is_absolute() or ".." in path.parts:
                    raise LabError(f"a packed run has '{entry.name}', which is no file of a run")
                yield entry.name, file.read()
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError) as error:
        raise LabError(f"a packed run is torn ({error})") from error


def _opened(packed: io.BytesIO, *, xz: bool) -> tarfile.TarFile:
    if xz:
        return tarfile.open(fileobj=packed, mode="w:xz")
    return tarfile.open(fileobj=packed, mode="w:gz", compresslevel=_FASTEST)


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry
