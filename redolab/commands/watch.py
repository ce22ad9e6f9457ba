"""Servers of the user while they run or recover: how long still, and their metrics."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.address import GivenServer, address_options
from redolab.commands.console import console
from redolab.commands.shared_options import RECOVERS_ON, WORKLOAD


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
@RECOVERS_ON
@WORKLOAD
@click.option(
    "--server",
    metavar="NAME",
    help="Whose figures are taken.  [default: what it says that it is]",
)
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
    one statement a scrape, its settings once a minute.
    """
    from redolab.report.table import print_lines
    from redolab.units import parse_duration
    from redolab.watch.exporting import parse_listen, serve, write_file
    from redolab.watch.watched import ServerToCome, WatchedServer

    if listen is not None and textfile is not None:
        raise click.UsageError("--listen answers scrapes, --textfile writes a file: give one of them")
    host, port = parse_listen(listen or "127.0.0.1:9400")
    seconds = parse_duration(every)
    address = server_at.address()
    watched = ServerToCome(lambda: WatchedServer(address, storage, workload, server))
    watched.look()
    known = watched.server
    remarks = [f"{address} does not answer yet"] if known is None else known.expectations.reservations()
    print_lines(console(), *remarks)
    try:
        if textfile is not None:
            write_file(watched, textfile, seconds)
            return
        where = f"[{host}]" if ":" in host else host
        console().print(
            f"{address if known is None else known.name}: metrics at http://{where}:{port}/metrics until Ctrl-C",
            highlight=False,
            markup=False,
        )
        serve(watched, host, port)
    finally:
        watched.close()


@click.command()
@click.argument("log", required=False, metavar="[LOG]")
@click.option(
    "--pid", type=int, metavar="N", help="The server's process, on this machine.  [default: who writes the log]"
)
@address_options
@click.option(
    "--server",
    metavar="NAME",
    help="As in mysql-9.7, where the log does not say which server it is.",
)
@click.option("--every", metavar="TIME", help="How often it is shown.  [default: 1s, as lines 10s]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a look, for programs.")
@click.option("--wait", "waits", is_flag=True, help="Wait for the next recovery, if none is running.")
def follow(
    log: str | None,
    pid: int | None,
    server_at: GivenServer,
    server: str | None,
    every: str | None,
    as_json: bool,
    waits: bool,
) -> None:
    """Follow a recovery that is running: how far it is, how long still, and whether to wait.

    LOG is the server's error log, or - for standard input (journalctl -f, docker logs -f, kubectl logs -f). On the server's own
    machine its process and its redo log files are read as well; nothing of it is changed, no signal is sent. Exit status 3 if the
    server or its log ends before it is ready, or if it does not get on when you stop.
    """
    from redolab.units import parse_duration
    from redolab.watch.following.follow import FollowRequest, experience
    from redolab.watch.following.follow import follow as follow_recovery

    request = FollowRequest(
        log=None if log is None else Path(log),
        pid=pid,
        address=server_at.address() if server_at.is_anything else None,
        server=server,
        waits=waits,
    )
    follow_recovery(request, experience(), None if every is None else parse_duration(every), as_json=as_json)
