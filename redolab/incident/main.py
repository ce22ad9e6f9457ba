"""Command line of `redolab-incident.pyz`: `follow` and `timeline`, with the options that they have in `redolab`."""

from __future__ import annotations

import argparse
import getpass
import pkgutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from redolab.errors import Interrupted, LabError, said

RECOVERIES = "recoveries.json.xz"
COMMIT = "COMMIT"
"""Files that the build puts beside this module."""
PROGRAM = "redolab-incident.pyz"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"redolab: {message}\n")


def follow_options() -> argparse.ArgumentParser:
    """Return the options of `follow`."""
    parser = _parser("follow", "Follow a recovery that is running: how far it is, how long still, and whether to wait.")
    add = parser.add_argument
    add("log", nargs="?", metavar="[LOG]")
    add("--pid", type=int, metavar="N", help="The server's process, on this machine.  [default: who writes the log]")
    add("-c", "--defaults-file", metavar="FILE", help="An option file's [client] part.")
    add("--socket", metavar="PATH", help="The server's unix socket.")
    add("--host", metavar="NAME", help="The server's host.")
    add("--port", type=int, metavar="N", help="Its port.  [default: 3306]")
    add("--user", metavar="NAME", help="Who asks.  [default: as the clients do]")
    add(
        "--ask-password",
        action="store_true",
        help="Prompt for the password; else option file or $MYSQL_PWD have it.",
    )
    add("--server", metavar="NAME", help="As in mysql-9.7, where the log does not say which server it is.")
    add("--every", metavar="TIME", help="How often it is shown.  [default: 1s, as lines 10s]")
    add("--json", action="store_true", help="One JSON object a look, for programs.")
    add("--wait", action="store_true", help="Wait for the next recovery, if none is running.")
    return parser


def timeline_options() -> argparse.ArgumentParser:
    """Return the options of `timeline`."""
    parser = _parser("timeline", "Show the recoveries in error logs.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE…")
    parser.add_argument("--json", action="store_true", help="One JSON object a file, for programs.")
    return parser


def main() -> None:
    """Run a command; an error becomes one line and an exit status."""
    try:
        _run(sys.argv[1:])
    except (LabError, OSError, Interrupted, KeyboardInterrupt) as error:
        sys.exit(said(error))


def _parser(command: str, about: str) -> argparse.ArgumentParser:
    return _Parser(prog=f"{PROGRAM} {command}", description=about, allow_abbrev=False)


def _run(arguments: Sequence[str]) -> None:
    commands: dict[str, Callable[[Sequence[str]], None]] = {"follow": _follow, "timeline": _timeline}
    parser = _Parser(prog=PROGRAM, description="Two commands of redolab for a server that is down: docs/incident.md.")
    parser.add_argument("--version", action="version", version=f"redolab {_version()}")
    parser.add_argument("command", choices=commands, help="COMMAND --help has its options.")
    # What stands behind the command is for it to read.
    chosen = parser.parse_args(arguments[:1] or ["--help"]).command
    commands[chosen](arguments[1:])


def _follow(arguments: Sequence[str]) -> None:
    from redolab.units import parse_duration
    from redolab.watch.following.follow import FollowRequest, experience, follow

    given = follow_options().parse_intermixed_args(arguments)
    asks = (given.defaults_file, given.socket, given.host, given.port, given.user, given.ask_password or None)
    address = None
    if any(each is not None for each in asks):
        from redolab.servers.address import Address

        address = Address(given.defaults_file, given.socket, given.host, given.port, given.user)
        address.check()
        address = address.with_password(getpass.getpass("Password: ") if given.ask_password else None)
    request = FollowRequest(
        log=None if given.log is None else Path(given.log),
        pid=given.pid,
        address=address,
        server=given.server,
        waits=given.wait,
    )
    every = None if given.every is None else parse_duration(given.every)
    follow(request, experience(_packed(RECOVERIES)), every, as_json=given.json)


def _timeline(arguments: Sequence[str]) -> None:
    from redolab.errorlog.timeline_report import report_timelines

    given = timeline_options().parse_intermixed_args(arguments)
    sys.exit(report_timelines(given.files, given.json))


def _version() -> str:
    from redolab import __version__

    return f"{__version__}, commit {_packed(COMMIT).decode().strip() or 'unknown'}"


def _packed(name: str) -> bytes:
    """Return the content of a file in the zip."""
    content = pkgutil.get_data("redolab.incident", name)
    assert content is not None
    return content
