"""Servers of the user while they run: their metrics."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.address import GivenServer, address_options
from redolab.commands.console import console


@click.command()
@address_options
@click.option("--listen", metavar="ADDRESS:PORT", help="Answer scrapes of Prometheus there.  [default: 127.0.0.1:9400]")
@click.option(
    "--textfile",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Instead: a file .prom for node_exporter, written again and again.",
)
@click.option("--every", default="15s", show_default=True, metavar="TIME", help="With --textfile: how often.")
@click.option(
    "--storage", default="native", show_default=True, metavar="NAME", help="Where it would recover: as for 'predict'."
)
@click.option("--workload", metavar="NAME", help="Whose kind of redo it is.  [default: the slowest known]")
@click.option("--server", metavar="NAME", help="Whose figures are taken.  [default: what it says that it is]")
def export(
    server_at: GivenServer,
    listen: str | None,
    textfile: Path | None,
    every: str,
    storage: str,
    workload: str | None,
    server: str | None,
) -> None:
    """Export how long a recovery of a running server would take, as metrics of Prometheus.

    With the checkpoint age, how far it is from where statements wait, and what drives flushing. It is only read: one connection,
    one statement a scrape.
    """
    from redolab.units import parse_duration
    from redolab.watching.exporting import parse_listen, serve, write_file
    from redolab.watching.watched import WatchedServer

    if listen is not None and textfile is not None:
        raise click.UsageError("--listen answers scrapes, --textfile writes a file: give one of them")
    host, port = parse_listen(listen or "127.0.0.1:9400")
    seconds = parse_duration(every)
    watched = WatchedServer(server_at.address(), storage, workload, server)
    for each in watched.expectations.reservations():
        console().print(each, highlight=False, markup=False, soft_wrap=True)
    try:
        if textfile is not None:
            write_file(watched, textfile, seconds)
            return
        where = f"[{host}]" if ":" in host else host
        console().print(
            f"{watched.name}: metrics at http://{where}:{port}/metrics until Ctrl-C", highlight=False, markup=False
        )
        serve(watched, host, port)
    finally:
        watched.close()
