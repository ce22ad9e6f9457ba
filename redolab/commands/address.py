"""The options that name a server of the user's own, the same for every command that reads one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from redolab.servers.address import Address

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("-c", "--defaults-file", type=click.Path(path_type=Path), metavar="FILE", help="An option file's [client] part."),
    click.option("--socket", metavar="PATH", help="The server's unix socket."),
    click.option("--host", metavar="NAME", help="The server's host."),
    click.option("--port", type=int, metavar="N", help="Its port.  [default: 3306]"),
    click.option("--user", metavar="NAME", help="Who asks.  [default: as the clients do]"),
    click.option("--ask-password", is_flag=True, help="Prompt for the password; else option file or $MYSQL_PWD have it."),
)  # fmt: skip


def address_options(command: _Command) -> _Command:
    """A command with these options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def address_of(
    defaults_file: Path | None, socket: str | None, host: str | None, port: int | None, user: str | None
) -> Address:
    """What they name; without a password yet."""
    from redolab.servers.address import Address

    return Address(defaults_file, socket, host, port, user)


def with_password(address: Address, ask: bool) -> Address:
    """With the password, once it is sure that a server is named. Raises `InvalidInput` if none is."""
    address.check()
    return address.with_password(
        click.prompt("Password", hide_input=True, default="", show_default=False) if ask else None
    )
