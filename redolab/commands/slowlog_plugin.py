"""`redolab slowlog plugin`: a slow query log without a lock, for MariaDB."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.console import progress


@click.command()
@click.argument("server")
@click.option(
    "-o",
    "folder",
    default=".",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where it is put, as the server's plugin_dir.  [default: here]",
)
def plugin(server: str, folder: Path) -> None:
    """Build a slow query log that takes no lock, a plugin of MariaDB, for SERVER and no other.

    SERVER is one of 'redolab servers'; one of your own is added by 'redolab server add NAME --path DIR'. Nothing is started
    or changed: you load it yourself, by INSTALL SONAME 'redolab_slow_log'.
    """
    from redolab.commands.upkeep.slow_log_plugin import put_slow_log_plugin

    click.echo(put_slow_log_plugin(progress(), server, folder))
