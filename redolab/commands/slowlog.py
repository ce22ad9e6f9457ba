"""Slow query logs of a server of the user's own: captured, put back, rotated, read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redolab.commands.address import GivenServer, address_options
from redolab.commands.console import console, progress
from redolab.commands.shared_options import JSON
from redolab.errors import InvalidInput
from redolab.machine.priority import give_way

if TYPE_CHECKING:
    from redolab.servers.address import Address

_PARQUET = b"PAR1"
"""First bytes of a Parquet file."""


class _Moment(click.ParamType[datetime]):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Parse a date and time, or a date."""
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"'{value}' is no time", "write it as 2024-05-01 or 2024-05-01T10:00:00+02:00") from None


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
    done = do_restore(notes, address, server_at.with_password, messages)
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
    from redolab.slowlog.settings.user_server import UserServer
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


@slowlog.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option("--since", type=_Moment(), help="Only queries stamped from this time on (2024-05-01T10:00:00Z).")
@click.option("--until", type=_Moment(), help="Only queries stamped before this time.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Classes shown; the rest is one row."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object with all classes, for programs.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write all classes as Parquet.")
def digest(
    files: tuple[Path, ...],
    since: datetime | None,
    until: datetime | None,
    limit: int,
    as_json: bool,
    output: Path | None,
) -> None:
    """Show which classes of queries took the time in slow query logs.

    Reads the files (- for standard input), also compressed ones and rotated sets, of MySQL, MariaDB and Percona Server.
    Queries that differ only in their literals are one class, as in pt-query-digest.
    """
    from redolab.slowlog.digest.digest_report import as_json_line, show, write_parquet
    from redolab.slowlog.digest.digesting import digest as digested

    if output is not None:
        _check_output(output, files)
    found = digested(files, since=since, until=until)
    if output is not None:
        write_parquet(found, output)
    if as_json:
        sys.stdout.write(as_json_line(found))
    else:
        show(found, limit, console())


@slowlog.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@address_options
@click.option("--measure", is_flag=True, help="Have that server count, too; else only its EXPLAIN is asked.")
@click.option("--at-most", default="10s", metavar="TIME", help="Then a statement is ended, 0.1s to 1h.  [default: 10s]")
@click.option("--top", default=20, metavar="N", help="So many classes, the longest query time first.  [default: 20]")
@JSON
def candidates(
    files: tuple[Path, ...],
    server_at: GivenServer,
    measure: bool,
    at_most: str,
    top: int,
    as_json: bool,
) -> None:
    """Show which queries in slow query logs are worth optimising.

    By rows examined for each table joined (B), against the rows sent without GROUP BY, DISTINCT and aggregates (A): B ≤ A is
    perfect, from 10 A on it is a candidate. Where something is grouped, the log does not tell A: a server does, which is only
    read. What writes, locks or calls functions with effects is never run there.
    """
    from redolab.slowlog.candidates.candidates_report import answer, table
    from redolab.slowlog.candidates.candidates_report import as_json as in_json
    from redolab.slowlog.candidates.counting_session import report_candidates
    from redolab.units import parse_duration

    address = server_at.address() if measure or server_at.is_anything else None
    found = report_candidates(
        files, top, address, measure, parse_duration(at_most), lambda text: click.echo(text, err=True)
    )
    if as_json:
        click.echo(in_json(found))
        return
    click.echo(answer(found))
    table(found).show(console())


@slowlog.command()
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


def _command_again(address: Address) -> str:
    """Return the command, with its full path, by which logrotate reopens this server's log after the renaming."""
    import shlex

    this = Path(sys.argv[0]).absolute()
    program = [sys.executable, "-m", "redolab"] if this.suffix == ".py" else [str(this)]
    noted = address.noted()
    options = [
        (name, str(value))
        for name, value in (
            ("--defaults-file", noted.defaults_file),
            ("--socket", noted.socket),
            ("--host", noted.host),
            ("--port", noted.port),
            ("--user", noted.user),
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


def _check_output(output: Path, files: tuple[Path, ...]) -> None:
    """Refuse an output that would overwrite anything but an older output. Raises `InvalidInput`."""
    if any(file.exists() and output.exists() and file.samefile(output) for file in files):
        raise InvalidInput(f"{output} is one of the logs", "give -o another name")
    # Reading anything but a file could block, and an empty file holds nothing.
    if not output.is_file() or not output.stat().st_size:
        return
    with output.open("rb") as file:
        if file.read(len(_PARQUET)) != _PARQUET:
            raise InvalidInput(f"{output} is there and no Parquet", "give -o another name")
