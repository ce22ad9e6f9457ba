"""A folder as bytes, to be sent from one machine to another."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from redolab.errors import LabError
from redolab.machine import files

_QUICKLY = 1
"""Of gzip's levels."""


def pack(folder: Path, but: Collection[str] = ()) -> bytes:
    """The files of a folder, without those of these relative paths."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=_QUICKLY) as archive:
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_file() and not path.is_symlink() and name not in but:
                archive.add(path, name, recursive=False)
    return packed.getvalue()


def unpack(content: bytes, folder: Path) -> None:
    """Write the files of a packed folder. Raises `LabError` if it is torn, or has what is no file in that folder."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            for entry in archive:
                file = archive.extractfile(entry) if entry.isreg() else None
                path = PurePosixPath(entry.name)
                if file is None or path.is_absolute() or ".." in path.parts:
                    raise LabError(f"what arrived has '{entry.name}', which is no file of a run")
                files.write_whole(folder / entry.name, file.read())
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise LabError(f"what arrived of a run is torn ({error})") from error
