"""Slow query logs of a server of the user's own."""

from __future__ import annotations

import click

from redolab.commands.slowlog_worth import worth


@click.group()
def slowlog() -> None:
    """Read slow query logs of a server of yours."""


slowlog.add_command(worth)
