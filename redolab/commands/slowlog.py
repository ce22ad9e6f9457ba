"""Slow query logs."""

from __future__ import annotations

import click

from redolab.commands.slowlog_digest import digest
from redolab.commands.slowlog_worth import worth


@click.group()
def slowlog() -> None:
    """Read the slow query logs of servers."""


slowlog.add_command(digest)
slowlog.add_command(worth)
