"""What differs between server families and versions: the contract, and the dialect of a given server.

One module a family. Nothing outside this folder knows a server's name or compares a version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from redolab.errors import InvalidInput
from redolab.sampling import Counters


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A server's version, as in 10.11.19."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """The first number of two or three parts in `text`. Raises `InvalidInput` if there is none."""
        match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
        if match is None:
            raise InvalidInput(f"'{text}' names no version")
        return cls(int(match[1]), int(match[2]), int(match[3] or 0))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class Purpose(StrEnum):
    """What an instance is for, as far as its settings differ."""

    LOAD = "load"
    FILL = "fill"
    RECOVER = "recover"


@dataclass(frozen=True, slots=True)
class InstanceRequest:
    """What an instance is to be like, in words that every dialect can translate; sizes in bytes."""

    purpose: Purpose
    log_size: int
    buffer_pool: int
    flush_log_at_trx_commit: int = 1
    binary_log: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A line of an option file; `value` None stands for an option without one. `reason` is why the lab sets it."""

    name: str
    value: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Initialisation:
    """How an empty data directory becomes one that a server starts on: a run of the server itself, fed with SQL."""

    arguments: Sequence[str]
    sql_files: Sequence[str]
    """Relative to the server's share folder, in this order."""
    sql_before: str
    sql_after: str


class Dialect(Protocol):
    """How the lab talks to servers of one family; made for one version."""

    family: str
    version: Version
    smallest_log: int
    """Bytes."""
    redo_format: str
    """Servers with the same word here can recover each other's crash images."""

    def initialisation(self) -> Initialisation:
        """How to make a data directory."""

    def settings(self, request: InstanceRequest) -> Sequence[Setting]:
        """The option file of an instance, the reason for every line included."""

    def counters_statement(self) -> str:
        """One statement that reads every redo counter at one instant; its rows are (name, value)."""

    def counters(self, rows: Mapping[str, str]) -> Counters:
        """What those rows say."""


def dialect_of(family: str, version: Version) -> Dialect:
    """The dialect that a server of that family and version speaks. Raises `InvalidInput` for an unknown family."""
    from redolab.servers.dialects.mariadb import MariaDB

    families = {"mariadb": MariaDB}
    if family not in families:
        raise InvalidInput(f"there is no server family '{family}'", f"choose from {', '.join(families)}")
    return families[family](version)


def option_file(settings: Sequence[Setting], instance: Path, share: Path) -> str:
    """The text of an instance's option file; `instance` and `share` as the server sees them."""
    private = [
        Setting("datadir", str(instance / "data"), "the instance's own folder"),
        Setting("tmpdir", str(instance / "tmp"), "the instance's own folder"),
        Setting("socket", str(instance / SOCKET), "the only way in"),
        Setting("pid_file", str(instance / "server.pid"), "the instance's own folder"),
        Setting("skip_networking", None, "nobody else is to reach it"),
        Setting("lc_messages_dir", str(share), "the server does not lie where it was built to lie"),
        Setting("character_sets_dir", str(share / "charsets"), "the server does not lie where it was built to lie"),
    ]
    lines = (
        f"{setting.name}{'' if setting.value is None else f' = {setting.value}'}  # {setting.reason}"
        for setting in (*private, *settings)
    )
    return "[mysqld]\n" + "\n".join(lines) + "\n"


SOCKET = "server.sock"
"""The socket's name in an instance's folder."""
