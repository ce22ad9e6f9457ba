"""The options that name a server of the user's own, the same for every command that reads one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from redolab.commands.shared_options import gathered

if TYPE_CHECKING:
    from redolab.servers.address import Address


@dataclass(frozen=True, slots=True)
class GivenServer:
    """Values of these options as given."""

    defaults_file: str | None
    socket: str | None
    host: str | None
    port: int | None
    user: str | None
    ask_password: bool

    @property
    def is_named(self) -> bool:
        """True if they name a server."""
        return any((self.defaults_file, self.socket, self.host))

    @property
    def is_anything(self) -> bool:
        """True if any part of an address was given."""
        return self.is_named or self.port is not None or self.user is not None or self.ask_password

    def address(self) -> Address:
        """Return the address with its password, which is asked for only if a server is named.

        Raises `InvalidInput` if none is.
        """
        from redolab.servers.address import Address

        return self.with_password(Address(self.defaults_file, self.socket, self.host, self.port, self.user))

    def with_password(self, address: Address) -> Address:
        """Check that an address names a server, and return it with its password. Raises `InvalidInput`."""
        address.check()
        password = (
            click.prompt("Password", hide_input=True, default="", show_default=False) if self.ask_password else None
        )
        return address.with_password(password)


address_options = gathered(
    "server_at",
    GivenServer,
    click.option("-c", "--defaults-file", type=click.Path(), metavar="FILE", help="An option file's [client] part."),
    click.option("--socket", metavar="PATH", help="The server's unix socket."),
    click.option("--host", metavar="NAME", help="The server's host."),
    click.option("--port", type=int, metavar="N", help="Its port.  [default: 3306]"),
    click.option("--user", metavar="NAME", help="Who asks.  [default: as the clients do]"),
    click.option("--ask-password", is_flag=True, help="Prompt for the password; else option file or $MYSQL_PWD have it."),
)  # fmt: skip
"""Decorator that gives a command these options, which it receives together as its parameter `server_at`."""
