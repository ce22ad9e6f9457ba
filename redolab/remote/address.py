"""What a person calls a machine, as in `ssh:db-spare` or `ssh:db-spare:/mnt/data/redolab`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redolab.errors import InvalidInput

LOCAL = "local"
_SSH = re.compile(r"ssh:(?P<host>[A-Za-z0-9_][A-Za-z0-9_.@-]*)(?::(?P<folder>/[A-Za-z0-9_./+-]+))?")


@dataclass(frozen=True, slots=True)
class SshAddress:
    """A host as OpenSSH's client knows it, and the folder of the lab there."""

    host: str
    folder: str | None = None
    """None: a folder in the account's cache."""

    def __str__(self) -> str:
        return f"ssh:{self.host}" + (f":{self.folder}" if self.folder else "")


def parse_machine(text: str) -> SshAddress | None:
    """The machine that is meant; None for this one (`local`). Raises `InvalidInput`."""
    if text == LOCAL:
        return None
    match = _SSH.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"'{text}' is no machine",
            "as in local, ssh:HOST with a name of ~/.ssh/config, or ssh:HOST:/folder/for/the/lab",
        )
    return SshAddress(match["host"], match["folder"])
