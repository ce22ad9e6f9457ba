"""The queries in slow query logs, by classes."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from redolab.commands.console import console
from redolab.errors import InvalidInput

_PARQUET = b"PAR1"


class _Moment(click.ParamType[datetime]):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Parse a date and time, or a date."""
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"'{value}' is no time", "write it as 2024-05-01 or 2024-05-01T10:00:00+02:00") from None


@click.command()
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
    from redolab.slowlog.digest.digesting import digest as digested
    from redolab.slowlog.digest.report import as_json_line, show, write_parquet

    if output is not None:
        _check_output(output, files)
    found = digested(files, since=since, until=until)
    if output is not None:
        write_parquet(found, output)
    if as_json:
        sys.stdout.write(as_json_line(found))
    else:
        show(found, limit, console())


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
