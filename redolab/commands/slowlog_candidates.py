"""`redolab slowlog candidates`: the queries of a slow query log that are worth optimising."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.address import GivenServer, address_options
from redolab.commands.console import console


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@address_options
@click.option("--measure", is_flag=True, help="Have that server count, too; else only its EXPLAIN is asked.")
@click.option("--at-most", default="10s", metavar="TIME", help="Then a statement is ended, 0.1s to 1h.  [default: 10s]")
@click.option("--top", default=20, metavar="N", help="So many classes, the longest query time first.  [default: 20]")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
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
    from redolab.slowlog.candidates.report import answer, table
    from redolab.slowlog.candidates.report import as_json as in_json
    from redolab.slowlog.candidates.session import report_candidates
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
