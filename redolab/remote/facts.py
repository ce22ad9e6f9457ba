"""What a machine says of itself before anything is copied to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import DiskFull, InvalidInput, LabError

PROBE = Path(__file__).with_name("probe.sh")
_OLDEST = (3, 11)
_LIBRARY = re.compile(r"glibc 2\.(\d+)")


@dataclass(frozen=True, slots=True)
class Facts:
    """A machine that the lab can be copied to."""

    folder: str
    """Of the lab there."""
    account: str
    processor: str
    """As `uname -m` has it."""
    library: int
    """The minor version of its GNU C library 2."""
    room: int
    """Free bytes under the folder."""
    python: str
    version: tuple[int, int]
    there: Sequence[str]
    """What earlier visits have left, relative to the folder; servers with the hash of what they were made from."""
    is_foreign: bool
    """The folder has something in it, and not of the lab's."""
    is_full: bool
    executes: bool
    """Programs in the folder may be executed."""

    def check(self, host: str) -> None:
        """Raises `InvalidInput` or `DiskFull` if the lab cannot be brought to that folder."""
        another = f"name another folder: ssh:{host}:/some/folder"
        if self.is_foreign:
            raise InvalidInput(f"{host}: {self.folder} is not empty, and not of the lab's", another)
        if self.is_full:
            raise DiskFull(f"{host}: {self.folder} has no room left", another)
        if not self.executes:
            raise InvalidInput(f"{host}: programs in {self.folder} may not be executed (noexec)", another)


def facts_from(said: str, host: str) -> Facts:
    """What the probe has printed. Raises `InvalidInput` if the lab cannot run on that machine, `LabError` if it makes no sense."""
    lines = [line.partition("=") for line in said.splitlines()]
    values = {name: value for name, _, value in lines}
    if refused := values.get("refused"):
        raise InvalidInput(f"{host}: {refused}", f"name a folder that the account may write: ssh:{host}:/some/folder")
    try:
        folder, room = values["folder"], int(values["room"])
    except (KeyError, ValueError) as error:
        raise LabError(f"{host} does not say what it is", f"see what 'ssh {host} uname -a' prints") from error
    python, version = _python([value for name, _, value in lines if name == "python"], host)
    library = _LIBRARY.fullmatch(values.get("library", ""))
    if library is None:
        raise InvalidInput(f"{host} has no GNU C library", "the servers need one: Debian, Ubuntu and the like have it")
    return Facts(
        folder=folder,
        account=values.get("account", ""),
        processor=values.get("processor", ""),
        library=int(library[1]),
        room=room,
        python=python,
        version=version,
        there=[value.rstrip("/") for name, _, value in lines if name == "there"],
        is_foreign="foreign" in values,
        is_full="full" in values,
        executes="executes" in values,
    )


def _python(found: Sequence[str], host: str) -> tuple[str, tuple[int, int]]:
    """The first that is new enough: program and version."""
    versions: dict[str, tuple[int, int]] = {}
    for line in found:
        program, _, version = line.rpartition(" ")
        major, _, minor = version.partition(".")
        versions[program] = int(major), int(minor)
    for program, known in versions.items():
        if known >= _OLDEST:
            return program, known
    wanted = ".".join(map(str, _OLDEST))
    if not versions:
        raise InvalidInput(f"{host} has no python3", f"install {wanted} or later there")
    newest = max(versions.values())
    raise InvalidInput(f"{host}: its python3 is {newest[0]}.{newest[1]}", f"the lab needs {wanted} or later")
