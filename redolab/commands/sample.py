"""Redo rates of a server of the user's own."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.address import GivenServer, address_options
from redolab.commands.console import console
from redolab.commands.shared_options import RECOVERS_ON, WORKLOAD


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE…]", type=click.Path(path_type=Path))
@address_options
@click.option("--every", default="1s", metavar="TIME", help="Time between two samples, 0.1s to 1h.  [default: 1s]")
@click.option("--for", "seconds", metavar="TIME", help="How long.  [default: until Ctrl-C]")
@RECOVERS_ON
@WORKLOAD
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Keep samples: .csv or .parquet.")
def sample(
    files: tuple[Path, ...],
    server_at: GivenServer,
    every: str,
    seconds: str | None,
    storage: str,
    workload: str | None,
    output: Path | None,
) -> None:
    """Show how much redo a server of yours writes, and how long a recovery would take.

    It is only read: one connection, one statement a sample. With FILEs, what was collected before is worked out
    instead: mysqladmin extended-status -i, pt-stalk's -mysqladmin, CSV or Parquet with a time and a counter.
    """
    from redolab.counters.live.sampling import sample_files, sample_live
    from redolab.units import parse_duration
    from redolab.watch.view import show_expected

    if files:
        if server_at.is_anything or output is not None:
            raise click.UsageError("FILEs are read instead of a server: give either, and no -o with them")
        for path, table in sample_files(files):
            click.echo(str(path))
            table.show(console())
        return
    duration = parse_duration(seconds) if seconds else None
    address = server_at.address()
    series = sample_live(console(), address, parse_duration(every), duration, output)
    if series.segments:
        show_expected(console(), address, storage, workload, series)
