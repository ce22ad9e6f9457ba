"""Slow query logs of a server of the user's own: captured, put back, rotated, read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from redolab.commands.address import GivenServer, address_options
from redolab.commands.console import progress
from redolab.commands.slowlog_candidates import candidates
from redolab.commands.slowlog_digest import digest
from redolab.commands.slowlog_plugin import plugin
from redolab.machine.priority import give_way

if TYPE_CHECKING:
    from redolab.servers.address import Address


@click.group()
def slowlog() -> None:
    """Capture, rotate and read slow query logs of a server of yours.

    At the lowest priority (nice 19): the server goes first.
    """
    # Before further imports: starting takes a core for a third of a second.
    give_way()


_verbose = click.option("-v", "--verbose", is_flag=True, help="Say each step.")


@slowlog.command()
@address_options
@click.option("-s", "--seconds", metavar="TIME", help="How long.  [default: 5s; from afar it must be said]")
@click.option("--max-size", metavar="SIZE", help="Stop when the log has that much.  [default: 4G, from afar 1G]")
@click.option("--min-free", default="20%", metavar="PERCENT", help="Stop when its disk has less free.  [default: 20%]")
@click.option("--event", is_flag=True, help="Put back by an event on the server too, where its scheduler is on.")
@_verbose
def capture(
    server_at: GivenServer,
    seconds: str | None,
    max_size: str | None,
    min_free: str,
    event: bool,
    verbose: bool,
) -> None:
    """Log every statement into a file of its own for a while, then put everything back.

    By SET GLOBAL alone. Everything is put back also if this command is killed: by a process that is started first, and later
    by 'redolab slowlog restore'. It needs SUPER (or SYSTEM_VARIABLES_ADMIN), RELOAD and PROCESS.
    """
    from redolab.slowlog.capture import CaptureLimits, in_words
    from redolab.slowlog.capture import capture as do_capture
    from redolab.units import parse_duration, parse_percent, parse_size

    address = server_at.address()
    limits = CaptureLimits(
        parse_duration(seconds) if seconds else None,
        parse_size(max_size) if max_size else None,
        parse_percent(min_free),
    )
    for line in in_words(do_capture(progress(), address, limits, _sayer(verbose), event=event)):
        click.echo(line)


@slowlog.command()
@click.argument("notes", nargs=-1, metavar="[NOTE…]", type=click.Path(path_type=Path))
@address_options
def restore(
    notes: tuple[Path, ...],
    server_at: GivenServer,
) -> None:
    """Put back what a capture or a rotation could not.

    By its NOTE, or all that there are. The address is the note's unless another is given. What somebody else has changed
    meanwhile is left, and named; after a restart of the server nothing is changed.
    """
    from redolab.slowlog.settings.note import folder
    from redolab.slowlog.settings.restoring import Messages
    from redolab.slowlog.settings.restoring import restore as do_restore

    address = server_at.address() if server_at.is_anything else None
    messages = Messages(click.echo, click.echo)
    done = do_restore(notes, address, server_at.completed, messages)
    click.echo(f"{done} put back" if done else f"nothing is to be put back: there is no note in {folder()}")


@slowlog.command()
@address_options
@click.option(
    "--wait", default="0s", metavar="TIME", help="Pause logging for so long before and after.  [default: 0s, no pause]"
)
@click.option("--renamed", is_flag=True, help="The file is renamed already, as logrotate does: only open it anew.")
@click.option("--logrotate", is_flag=True, help="Print a configuration for logrotate instead.")
@_verbose
def rotate(
    server_at: GivenServer,
    wait: str,
    renamed: bool,
    logrotate: bool,
    verbose: bool,
) -> None:
    """Rotate the slow query log while the server runs: rename it, have it opened anew.

    Nothing is truncated, removed or signalled. With --wait logging is paused (long_query_time 2000.000471) and put back as by capture;
    statements of the pause are missing from the log. Needs RELOAD; with --wait all that capture needs.
    """
    from redolab.slowlog.rotation import logrotate_configuration
    from redolab.slowlog.rotation import rotate as do_rotate
    from redolab.slowlog.settings.server import UserServer
    from redolab.units import format_size, parse_duration

    address = server_at.address()
    if logrotate:
        server = UserServer(address)
        try:
            click.echo(logrotate_configuration(server, _command_again(address)), nl=False)
        finally:
            server.close()
        return
    done = do_rotate(progress(), address, _sayer(verbose), wait=parse_duration(wait), renamed=renamed)
    click.echo(f"{done.file} is opened anew" + (f"; {format_size(done.size)} are in {done.old}" if done.old else ""))


slowlog.add_command(digest)
slowlog.add_command(candidates)
slowlog.add_command(plugin)


def _command_again(address: Address) -> str:
    """Return the command, with its full path, by which logrotate reopens this server's log after the renaming."""
    import shlex
    import sys

    this = Path(sys.argv[0]).absolute()
    program = [sys.executable, "-m", "redolab"] if this.suffix == ".py" else [str(this)]
    options = [
        (name, str(value))
        for name, value in (
            ("--defaults-file", address.defaults_file and Path(address.defaults_file).absolute()),
            ("--socket", address.socket and Path(address.socket).absolute()),
            ("--host", address.host),
            ("--port", address.port),
            ("--user", address.user),
        )
        if value
    ]
    # A session of its own gives the command the lowest priority (redolab/machine/priority.py).
    return shlex.join(
        [
            "setsid",
            "--wait",
            *program,
            "slowlog",
            "rotate",
            "--renamed",
            *(part for option in options for part in option),
        ]
    )


def _sayer(verbose: bool) -> Callable[[str], None]:
    return click.echo if verbose else lambda _: None
