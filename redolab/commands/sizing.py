"""Predictions and sizes: `predict`, `size`, `fit`."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.console import console

_SERVER = click.option("--server", required=True, metavar="NAME", help="Of 'redolab servers', or as in mysql-8.4.3.")
_STORAGE = click.option(
    "--storage", default="native", metavar="NAME", show_default=True,
    help="A storage of the calibration that comes with redolab, or a calibration of your own: FILE, or FILE:STORAGE.",
)  # fmt: skip
_POOL = click.option("--pool", required=True, metavar="SIZE", help="Buffer pool of the recovering server, as in 32G.")
_WORKLOAD = click.option("--workload", metavar="NAME", help="Whose kind of redo it is.  [default: the slowest known]")
_DIRTY = click.option(
    "--dirty-pages", type=click.IntRange(min=1), metavar="N", help="At the crash.  [default: as the workload]"
)
_UNDO = click.option("--undo-rows", type=click.IntRange(min=0), metavar="N", help="Rows to roll back.")
_JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


@click.command()
@_SERVER
@click.option("--log-size", required=True, metavar="SIZE", help="Of the whole redo log, as in 8G.")
@_STORAGE
@_POOL
@_WORKLOAD
@_DIRTY
@_UNDO
@click.option("--age", metavar="SIZE", help="Redo at the crash.  [default: the worst, where flushing is forced]")
@_JSON
def predict(
    server: str,
    log_size: str,
    storage: str,
    pool: str,
    workload: str | None,
    dirty_pages: int | None,
    undo_rows: int | None,
    age: str | None,
    as_json: bool,
) -> None:
    """Predict how long a recovery takes, without crashing anything.

    From measured crashes, with the intervals that their errors allow.
    """
    from redolab.sizing.predicting import predicted, show_predicted
    from redolab.sizing.question import Question, model_for
    from redolab.units import parse_size

    question = Question(
        server=server,
        storage=storage,
        pool=parse_size(pool),
        workload=workload,
        dirty_pages=dirty_pages,
        undo_rows=undo_rows,
    )
    found = predicted(model_for(question), parse_size(log_size), parse_size(age) if age else None)
    if as_json:
        _echo_json(found)
    else:
        show_predicted(console(), found)


@click.command()
@_SERVER
@click.option(
    "--samples",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What 'redolab sample -o' wrote, or a table.",
)
@click.option(
    "--redo-per-hour", metavar="SIZE", help="Redo of the busiest hour by LSN, as in 2.7G, instead of samples."
)
@click.option("--rto", required=True, metavar="TIME", help="Recovery within this, as in 60s.")
@_STORAGE
@_POOL
@_WORKLOAD
@_JSON
def size(
    server: str,
    samples: tuple[Path, ...],
    redo_per_hour: str | None,
    rto: str,
    storage: str,
    pool: str,
    workload: str | None,
    as_json: bool,
) -> None:
    """Say which size of redo log to set.

    The smallest that holds an hour of peak redo, if recovery stays within the time: with the table that it comes from, and
    lines to paste.
    """
    from redolab.sizing.advising import show_sized, sized
    from redolab.sizing.demand import Demand, demand_of_files
    from redolab.sizing.question import Question, model_for
    from redolab.units import parse_duration, parse_size

    if bool(samples) == (redo_per_hour is not None):
        raise click.UsageError("give --samples FILE or --redo-per-hour SIZE")
    demand = (
        demand_of_files(samples)
        if samples
        else Demand(redo_per_hour=float(parse_size(redo_per_hour or "")), source="as given")
    )
    question = Question(server=server, storage=storage, pool=parse_size(pool), workload=workload)
    found = sized(model_for(question), demand, parse_duration(rto))
    if as_json:
        _echo_json(found)
    else:
        show_sized(console(), found)


@click.command()
@click.argument("names", nargs=-1, metavar="[RUN…]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the calibration there.",
)
def fit(names: tuple[str, ...], output: Path | None) -> None:
    """Learn recovery times from runs, and say how far predictions are off.

    RUNs of recoveries on one machine; without any, those that are committed with redolab. The errors are those on
    recoveries that the fit had not seen.
    """
    from redolab.runs.store import RunStore
    from redolab.sizing.calibration import shipped_calibration, with_spreads_of, write_calibration
    from redolab.sizing.fitting import committed_runs, error_rows, errors_table, fit_runs, rates_tables

    if output is not None:
        _check_folder(output)
    runs = [RunStore().get(name) for name in names]
    found = fit_runs(runs or committed_runs())
    for table in rates_tables(found.calibration):
        table.show(console())
    errors_table(error_rows(found.judged)).show(console())
    if output is not None:
        # A few runs of a user's own cannot hold out everything.
        calibration = with_spreads_of(found.calibration, shipped_calibration()) if runs else found.calibration
        write_calibration(output, calibration)
        click.echo(f"written: {output}")


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default="report.html",
    metavar="FILE",
    show_default=True,
)
@click.option(
    "--calibration",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Of your own machine, for the calculator.",
)
def page(output: Path, path: Path | None) -> None:
    """Write the report: one HTML page with results, and a calculator.

    It opens from disk without a network.
    """
    from redolab.machine.files import write_whole
    from redolab.project import PROJECT
    from redolab.sizing.calibration import read_calibration, shipped_calibration
    from redolab.sizing.fitting import committed_runs, error_rows, fit_runs
    from redolab.sizing.page import html_page

    _check_folder(output)
    calibration = read_calibration(path) if path else shipped_calibration()
    errors = error_rows(fit_runs(committed_runs()).judged)
    write_whole(output, html_page(calibration, errors, sorted(PROJECT.results.glob("*.md"))).encode())
    click.echo(f"written: {output}")


def _check_folder(output: Path) -> None:
    """Before anything is worked out for it."""
    if not output.absolute().parent.is_dir():
        raise click.UsageError(f"there is no folder {output.absolute().parent}: make it, or write elsewhere")


def _echo_json(found: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
