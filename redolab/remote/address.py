"""What a person calls a machine: `ssh:db-spare`, `ssh:db-spare:/mnt/data/redolab`, or `vagrant`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redolab.errors import InvalidInput
from redolab.virtual.vagrant import GUEST, LAB_THERE

LOCAL = "local"
_SSH = re.compile(r"ssh:(?P<host>[A-Za-z0-9_][A-Za-z0-9_.@-]*)(?::(?P<folder>/[A-Za-z0-9_./+-]+))?")
_VAGRANT = re.compile(rf"{GUEST}(?::(?P<provider>[a-z]+))?")


@dataclass(frozen=True, slots=True)
class SshAddress:
    """A host as OpenSSH's client knows it, and the folder of the lab there."""

    host: str
    folder: str | None = None
    """None: a folder in the account's cache."""

    def __str__(self) -> str:
        return f"ssh:{self.host}" + (f":{self.folder}" if self.folder else "")


@dataclass(frozen=True, slots=True)
class VagrantAddress:
    """The virtual machine that the lab makes."""

    provider: str | None = None
    """None: as the settings have it."""

    @property
    def host(self) -> str:
        """As ssh knows it."""
        return GUEST

    @property
    def folder(self) -> str:
        """Of the lab there."""
        return LAB_THERE

    def __str__(self) -> str:
        return GUEST + (f":{self.provider}" if self.provider else "")


MachineAddress = SshAddress | VagrantAddress
"""Any machine but this one."""


def parse_machine(text: str) -> MachineAddress | None:
    """The machine that is meant; None for this one (`local`). Raises `InvalidInput`."""
    if text == LOCAL:
        return None
    if (match := _VAGRANT.fullmatch(text)) is not None:
        return VagrantAddress(match["provider"])
    match = _SSH.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"'{text}' is no machine",
            "as in local, vagrant, ssh:HOST with a name of ~/.ssh/config, or ssh:HOST:/folder/for/the/lab",
        )
    return SshAddress(match["host"], match["folder"])
