"""Identity of a machine: a random id and its description, in the lab's folder, because two machines can be equal."""

from __future__ import annotations

import uuid
from pathlib import Path

import msgspec

from redolab.machine import files
from redolab.machine.facts import Machine
from redolab.machine.machine_class import are_of_one_class

MACHINE_FILE = "machine.json"


class _KnownMachine(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `MACHINE_FILE`."""

    id: str
    machine: Machine
    """Description of the machine when it was given the id."""


def machine_identity(lab: Path, machine: Machine, *, keep: bool = True) -> str:
    """Return this machine's id in this lab's folder; draw one if there is none.

    A folder that was carried to a machine of another class does not bring the first machine's id along. Without
    `keep`, nothing is written.
    """
    path = lab / MACHINE_FILE
    try:
        known = msgspec.json.decode(path.read_bytes(), type=_KnownMachine)
    except (FileNotFoundError, msgspec.MsgspecError):
        known = None
    if known is None or not are_of_one_class(known.machine, machine):
        known = _KnownMachine(id=uuid.uuid4().hex, machine=machine)
        if keep:
            files.write_whole(path, msgspec.json.format(msgspec.json.encode(known)))
    return known.id
