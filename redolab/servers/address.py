"""Connecting to a user's own server: by option file, socket or host; a password never from the command line."""

from __future__ import annotations

import configparser
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.optionfile import Parser

from redolab.errors import InvalidInput, LabError, Unreachable

PASSWORD = "MYSQL_PWD"
"""The environment variable with a password, as the servers' own clients read it."""
_PATIENCE = 10.0
_NOBODY_ANSWERS = (
    CR.CR_CONNECTION_ERROR,
    CR.CR_CONN_HOST_ERROR,
    CR.CR_SERVER_GONE_ERROR,
    CR.CR_SERVER_LOST,
)


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a server and the account that connects to it. The text form leaves out the password."""

    defaults_file: str | None = None
    socket: str | None = None
    host: str | None = None
    port: int | None = None
    user: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"Address({self})"

    def __str__(self) -> str:
        if self.socket:
            return self.socket
        if self.host:
            return f"{self.host}:{self.port}" if self.port else self.host
        return f"the server in {self.defaults_file}"

    def noted(self) -> Address:
        """Return the address in the form for a note: valid in every folder, and without the password."""
        file, socket = (str(Path(each).absolute()) if each else None for each in (self.defaults_file, self.socket))
        return Address(file, socket, self.host, self.port, self.user)

    def with_password(self, asked: str | None) -> Address:
        """Return a copy with a password: the one given, else `MYSQL_PWD`, unless the option file has a password."""
        if asked is not None:
            return replace(self, password=asked)
        in_file = self._options().has_option("client", "password")
        return replace(self, password=None if in_file else os.environ.get(PASSWORD))

    def check(self) -> None:
        """Raise `InvalidInput` if the address names no server, or an option file that cannot be read."""
        if not (self.defaults_file or self.socket or self.host):
            raise InvalidInput("no server was named", "give --defaults-file FILE, --socket PATH or --host NAME")
        if self.socket and self.host:
            raise InvalidInput("--socket and --host exclude each other", "give one of them")
        self._options()

    def connect(self, answer: float = _PATIENCE) -> Connection:
        """Return a new connection that waits up to `answer` seconds for a reply.

        Raises `pymysql.MySQLError`, or `LabError` where a password could only be sent with a package that is missing.
        """
        given: dict[str, Any] = {
            "read_default_file": self.defaults_file,
            "unix_socket": self.socket,
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
        }
        try:
            return pymysql.connect(
                **{name: value for name, value in given.items() if value is not None},
                connect_timeout=_PATIENCE,
                read_timeout=answer,
                autocommit=True,
                program_name="redolab",
            )
        except RuntimeError as error:
            # Without TLS a password is encrypted by `cryptography`, which `redolab-incident.pyz` does not have.
            raise LabError(f"{self} cannot be asked ({error})", "connect by --socket") from error

    def _options(self) -> Parser:
        """Read the option file as `pymysql` will. Raises `InvalidInput` if it cannot be read."""
        options = Parser()
        if self.defaults_file is None:
            return options
        try:
            with Path(self.defaults_file).open() as file:
                options.read_file(file)
        except (OSError, UnicodeDecodeError, configparser.Error) as error:
            reason = str(error).splitlines()[0]
            raise InvalidInput(f"the option file {self.defaults_file} cannot be read ({reason})") from None
        return options


def refused(address: Address, error: pymysql.MySQLError) -> LabError:
    """Return the error for a failed connection: `Unreachable` if nothing answers, else `LabError`."""
    message = error.args[1] if len(error.args) > 1 else str(error)
    kind = Unreachable if error.args and error.args[0] in _NOBODY_ANSWERS else LabError
    return kind(f"{address} cannot be asked ({message})", "look at address, user and password")
