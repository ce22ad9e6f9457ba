"""Recovery times and sizes of all servers that a Prometheus knows: `fleet`."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.console import console
from redolab.commands.given_limits import GivenLimits, limit_options
from redolab.commands.prometheus import GivenPrometheus, prometheus_options
from redolab.commands.shared_options import WORKLOAD


@click.command()
@prometheus_options
@click.option(
    "--match", "matchers", default="", metavar="MATCHERS", help="Of these servers alone, as in 'environment=\"prod\"'."
)
@click.option("--for", "seconds", metavar="TIME", help="How far back to look.  [default: 30d]")
@limit_options
@click.option(
    "--storage",
    default="local",
    metavar="NAME",
    show_default=True,
    help="Of servers for which the fleet file has none.",
)
@WORKLOAD
@click.option(
    "--servers",
    "rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A TOML file with storage, calibration and recovery time by label (docs/fleet.md).",
)
@click.option(
    "--since",
    "earlier",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Say what changed since that CSV or Parquet.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it as FILE.csv, .parquet or .html too; may be given several times.",
)
def fleet(
    monitored_by: GivenPrometheus,
    matchers: str,
    seconds: str | None,
    allowed: GivenLimits,
    storage: str,
    workload: str | None,
    rules: Path | None,
    earlier: Path | None,
    outputs: tuple[Path, ...],
) -> None:
    """Say of all monitored servers how long recovery takes, and what to set.

    A row for each server that a Prometheus knows by mysqld_exporter or PMM, the one first that misses its recovery time by the
    most. The monitoring system does the work: the number of queries depends on the days, not on the servers.
    """
    from redolab.predict.trade import shipped_trades
    from redolab.report.table import SCREEN, print_lines
    from redolab.units import format_duration
    from redolab.watch.monitoring.fleet import FleetQuestion, fleet_rows, since
    from redolab.watch.monitoring.fleet_file import read_rules
    from redolab.watch.monitoring.fleet_report import check_output, fleet_table, read_fleet, write_fleet
    from redolab.watch.monitoring.servers import servers_of

    if monitored_by.url is None:
        raise click.UsageError("give --prometheus URL")
    for output in outputs:
        check_output(output)
    question = FleetQuestion(
        limits=allowed.limits(),
        storage=storage,
        workload=workload,
        crash_time=allowed.crash_time(),
        server_rules=() if rules is None else read_rules(rules),
        from_os_log_written=monitored_by.from_os_log_written,
    )
    before = None if earlier is None else read_fleet(earlier)
    prometheus, span = monitored_by.open(), monitored_by.span(seconds)
    servers = servers_of(prometheus, matchers, span, by_os_log_written=monitored_by.from_os_log_written)
    rows = fleet_rows(servers, question, span, shipped_trades())
    notes = [
        f"From {prometheus.url}: {format_duration(span.length)}, {prometheus.queries} queries. Recovery times are predicted "
        "(docs/recovery-time.md), with the kind of redo that is the slowest known unless --workload says otherwise.",
    ]
    if before is not None:
        rows = since(rows, before)
        gone = sorted(before.keys() - {row.server for row in rows})
        notes.append(f"Gone since {earlier}: {', '.join(gone) or 'none'}.")
    shown = fleet_table(rows, notes, max(SCREEN, console().width))
    print_lines(console(), shown.title)
    shown.show(console())
    for output in outputs:
        write_fleet(output, rows, notes)
        click.echo(f"written: {output}")
