"""Servers: the catalogue, a user's own servers, and the capacity of a redo log on each."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.console import console, progress


@click.command()
def servers() -> None:
    """List the servers that can be asked for."""
    from redolab.commands.upkeep.lab_servers import servers_table

    servers_table().show(console())


@click.group()
def server() -> None:
    """Add servers of your own, and remove them."""


@server.command("add")
@click.argument("name")
@click.option("--tarball", type=click.Path(path_type=Path), help="A vendor's generic Linux tarball.", metavar="FILE")
@click.option("--sha256", help="The tarball's checksum, which is checked; without it, it is shown.", metavar="SUM")
@click.option("--path", type=click.Path(path_type=Path), help="A build tree or an installed server.", metavar="DIR")
def server_add(name: str, tarball: Path | None, sha256: str | None, path: Path | None) -> None:
    """Add a server of your own as NAME; family and version are read from its binary.

    A tarball of a server that there is becomes one more version of it, for runs that were planned with that.
    """
    from redolab.commands.upkeep.lab_servers import add_server

    click.echo(add_server(progress(), name, tarball, sha256, path))


@server.command("fetch")
@click.argument("name")
def server_fetch(name: str) -> None:
    """Fetch a server as its source has it today; other versions of it that are there stay."""
    from redolab.commands.upkeep.lab_servers import fetch_server

    click.echo(fetch_server(progress(), name))


@server.command("rm")
@click.argument("name")
def server_rm(name: str) -> None:
    """Forget a server of your own, and remove what was unpacked of it."""
    from redolab.commands.upkeep.lab_servers import remove_server

    click.echo(remove_server(progress(), name))


@click.command()
@click.option(
    "--server",
    "name",
    metavar="NAME",
    help="One server, with its option file lines.  [default: all]",
)
@click.option("--log-size", default="8G", metavar="SIZE", help="All redo log files together.  [default: 8G]")
def capacity(name: str | None, log_size: str) -> None:
    """Show what a redo log of a size holds.

    Its files, its usable bytes, the checkpoint ages at which flushing is forced and at which statements wait.
    """
    from redolab.commands.upkeep.capacity_table import capacity_table, option_lines, server_capacity
    from redolab.servers.catalogue import server_catalogue
    from redolab.units import parse_size

    catalogue = server_catalogue()
    names = [name] if name else catalogue.names()
    rows = [server_capacity(each, catalogue.get(each).dialect(), parse_size(log_size)) for each in names]
    capacity_table(rows).show(console())
    if name:
        click.echo("\n".join(["", *option_lines(rows[0])]))
