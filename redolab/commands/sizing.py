"""Predictions and sizes: `predict`, `size`, `fit`."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.address import GivenServer, address_options
from redolab.commands.console import console
from redolab.commands.redo_source import GivenRedo, redo_options
from redolab.commands.shared_options import CHANCE, JSON, WORKLOAD

_STORAGE = click.option(
    "--storage", default="local", metavar="NAME", show_default=True,
    help="A storage of the calibration that comes with redolab, or a calibration of your own: FILE, or FILE:STORAGE.",
)  # fmt: skip
_DIRTY = click.option(
    "--dirty-pages", type=click.IntRange(min=1), metavar="N", help="At the crash.  [default: as the workload]"
)
_UNDO = click.option("--undo-rows", type=click.IntRange(min=0), metavar="N", help="Rows to roll back.")
_PREPARED = click.option(
    "--prepared-rows",
    type=click.IntRange(min=0),
    metavar="N",
    help="Rows of a transaction that the crash cuts off while it is written to the binary log.",
)
_TABLES = click.option("--tables", type=click.IntRange(min=0), metavar="N", help="Tables, each in a file of its own.")
_BINARY_LOG = click.option(
    "--binary-log",
    metavar="SIZE",
    help="Of its last file at the crash, 0 without one.  [default: the asked server's max_binlog_size, else 1G where it is on as "
    "shipped]",
)
_READ_THREADS = click.option(
    "--read-io-threads",
    "read_threads",
    type=click.IntRange(1, 64),
    metavar="N",
    help="innodb_read_io_threads of the recovering server.  [default: the asked server's, else 4]",
)
_WHY = click.option("--why", "with_why", is_flag=True, help="Show each term, and each reason for the interval's width.")


@click.command()
@click.option(
    "--server",
    metavar="NAME",
    help="Of 'redolab servers', or as in mysql-8.4.3.  [default: the one that is asked]",
)
@click.option("--log-size", metavar="SIZE", help="Of the whole redo log, as in 8G.  [default: the asked server's]")
@_STORAGE
@click.option("--pool", metavar="SIZE", help="Buffer pool of the recovering server.  [default: the asked server's]")
@WORKLOAD
@_DIRTY
@_TABLES
@_UNDO
@_PREPARED
@_BINARY_LOG
@_READ_THREADS
@click.option("--age", metavar="SIZE", help="Redo at the crash.  [default: the worst, where statements wait]")
@address_options
@_WHY
@JSON
def predict(
    server: str | None,
    log_size: str | None,
    storage: str,
    pool: str | None,
    workload: str | None,
    dirty_pages: int | None,
    tables: int | None,
    undo_rows: int | None,
    prepared_rows: int | None,
    binary_log: str | None,
    read_threads: int | None,
    age: str | None,
    server_at: GivenServer,
    with_why: bool,
    as_json: bool,
) -> None:
    """Predict how long a recovery takes, without crashing anything.

    From measured crashes, with the intervals that their errors allow. Of a server that runs (--socket, --host, -c): if it crashed
    now, and at the worst.
    """
    from redolab.predict.asking import model_for
    from redolab.predict.predicting import predicted, show_predicted
    from redolab.predict.question import Question
    from redolab.predict.why import show_why
    from redolab.units import parse_size

    if server_at.is_named:
        given = (log_size, pool, dirty_pages, tables, undo_rows, prepared_rows, binary_log, read_threads, age)
        if any(each is not None for each in given):
            raise click.UsageError("a server that is asked tells log, pool and age itself: give no other")
        _predict_now(server_at, storage, workload, server, as_json=as_json)
        return
    if server is None or log_size is None or pool is None:
        raise click.UsageError(
            "give --server NAME, --log-size SIZE and --pool SIZE, or a server to ask as in --socket PATH"
        )
    question = Question(
        server=server,
        storage=storage,
        pool=parse_size(pool),
        workload=workload,
        dirty_pages=dirty_pages,
        tables=tables,
        undo_rows=undo_rows,
        prepared_rows=prepared_rows,
        binary_log=parse_size(binary_log) if binary_log else None,
        read_threads=read_threads,
    )
    prediction = predicted(model_for(question), parse_size(log_size), parse_size(age) if age else None)
    if as_json:
        _echo_json(prediction)
    else:
        show_predicted(console(), prediction)
        if with_why:
            show_why(console(), prediction.why)


def _predict_now(
    server_at: GivenServer, storage: str, workload: str | None, server: str | None, *, as_json: bool
) -> None:
    """Read a running server twice, a second apart, for its rate, and predict its recovery now and at worst."""
    import time

    from redolab.errors import LabError
    from redolab.report.table import print_lines
    from redolab.watch.view import in_words, predicted_now, recovery_table
    from redolab.watch.watched import WatchedServer

    watched = WatchedServer(server_at.address(), storage, workload, server)
    try:
        watched.look()
        time.sleep(1.0)
        standing = watched.look()
        watched.ask_largest_transaction()
    finally:
        watched.close()
    if standing is None:
        raise LabError("the connection was lost", "try again")
    if as_json:
        _echo_json(predicted_now(watched, standing))
        return
    print_lines(console(), *in_words(watched, standing))
    recovery_table(watched.expectations, standing.expected).show(console())


@click.command()
@click.option(
    "--server",
    metavar="NAME",
    help="Of 'redolab servers', or as in mysql-8.4.3.  [default: the sampled one]",
)
@redo_options
@click.option("--rto", required=True, metavar="TIME", help="Recovery within this, as in 60s.")
@click.option(
    "--until",
    type=click.Choice(["ready", "rolled-back"]),
    default="ready",
    show_default=True,
    help="What ends a recovery: the server answers, or all is rolled back too.",
)
@CHANCE
@click.option(
    "--loss",
    default="3%",
    metavar="SHARE",
    show_default=True,
    help="Less throughput than that may be lost against the largest log, where that was measured.",
)
@click.option(
    "--crash",
    type=click.Choice(["any", "worst"]),
    default="any",
    show_default=True,
    help="Which has to be recovered in time: one at a random moment, where the ages at such are known, or with the log full.",
)
@click.option(
    "--compare", "with_others", is_flag=True, help="Show what others would set, and what recovery then costs."
)
@click.option("--cpus", type=click.IntRange(min=1), metavar="N", help="CPUs of the server, by which some others go.")
@click.option("--memory", metavar="SIZE", help="Memory of the server, by which some others go.")
@_TABLES
@_UNDO
@_PREPARED
@_BINARY_LOG
@_STORAGE
@click.option("--pool", metavar="SIZE", help="Buffer pool of the recovering server.  [default: the sampled server's]")
@WORKLOAD
@_READ_THREADS
@_WHY
@JSON
def size(
    server: str | None,
    redo: GivenRedo,
    rto: str,
    until: str,
    chance: str,
    loss: str,
    crash: str,
    with_others: bool,
    cpus: int | None,
    memory: str | None,
    tables: int | None,
    undo_rows: int | None,
    prepared_rows: int | None,
    binary_log: str | None,
    storage: str,
    pool: str | None,
    workload: str | None,
    read_threads: int | None,
    with_why: bool,
    as_json: bool,
) -> None:
    """Say which size of redo log to set.

    Of those that recover within the time the smallest that loses hardly any throughput, where that was measured under such a
    load; else the smallest that holds an hour of peak redo; else the largest. With the table that it comes from, and lines to
    paste. The redo is that of samples, of a server that is sampled now, or given.
    """
    from rich.console import Console

    from redolab.predict.advising import CrashTime, Sizing, check_recovery_time, sized
    from redolab.predict.asking import model_for
    from redolab.predict.compare import compared, compared_table
    from redolab.predict.demand import with_dirty_pages
    from redolab.predict.log_size import Limits
    from redolab.predict.question import Question, Until
    from redolab.predict.rules import ServerFacts
    from redolab.predict.size_in_words import show_sized
    from redolab.predict.trade import shipped_trades
    from redolab.predict.why import show_why
    from redolab.units import format_size, parse_duration, parse_percent, parse_size

    redo.check(is_described=server is not None and pool is not None)
    if undo_rows is not None and until == Until.READY:
        raise click.UsageError("--undo-rows counts with --until rolled-back alone")
    limits = Limits(rto=parse_duration(rto), chance=parse_percent(chance), loss=parse_percent(loss))
    check_recovery_time(limits.rto)
    source = redo.source(with_hours=with_others)
    buffer_pool = parse_size(pool) if pool else source.pool
    if buffer_pool is None:
        raise click.UsageError("give --pool SIZE: no metric tells it (--collect.global_variables)")
    question = Question(
        server=server or source.server or "",
        storage=storage,
        pool=buffer_pool,
        workload=workload,
        tables=source.tables if tables is None else tables,
        undo_rows=undo_rows,
        prepared_rows=prepared_rows,
        binary_log=parse_size(binary_log) if binary_log else source.binary_log,
        read_threads=read_threads or source.read_threads,
        until=Until(until),
    )
    model = model_for(question)
    # Programs read the answer alone.
    demand = source.demand(Console(stderr=True) if as_json else console())
    demand = with_dirty_pages(demand, model, source.dirty_pages)
    if with_others:
        facts = ServerFacts(
            pool=buffer_pool,
            os_log_written=demand.os_log_written_mean,
            os_log_written_hours=source.os_log_written_hours,
            cpus=cpus,
            memory=parse_size(memory) if memory else None,
        )
        sizing = Sizing(model, demand, limits, shipped_trades(), CrashTime(crash))
        others = compared(sizing, facts, source.log_size)
        title = f"{question.server}, pool {format_size(buffer_pool)}, on {storage}"
        if as_json:
            _echo_json(others)
        else:
            compared_table(others, limits, title, CrashTime(crash)).show(console())
        return
    advice = sized(model, demand, limits, shipped_trades(), CrashTime(crash))
    if as_json:
        _echo_json(advice)
    else:
        show_sized(console(), advice)
        if with_why and advice.why is not None:
            show_why(console(), advice.why)


@click.command()
@click.argument("names", nargs=-1, metavar="[RUN…]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the calibration there.",
)
@click.option(
    "--machine",
    metavar="TEXT",
    help="Part of its CPU's name, where RUNs are of several machines.  [default: the most measured]",
)
def fit(names: tuple[str, ...], output: Path | None, machine: str | None) -> None:
    """Learn recovery times from runs, and say how far predictions are off.

    RUNs of recoveries; without any, those that are committed with redolab. Of several kinds of machine only the recoveries
    on one are learned from. The errors are those on recoveries that the fit had not seen.
    """
    from redolab.predict.calibrated_elsewhere import fit_committed
    from redolab.predict.calibration import shipped_calibration, write_calibration
    from redolab.predict.fitting import fit_runs, learned_from
    from redolab.predict.own_machine import on_own_machine
    from redolab.predict.prediction_errors import error_rows, errors_table
    from redolab.predict.rates import rates_tables
    from redolab.predict.trade import committed_loads, trades_of, write_trades
    from redolab.runs.store import RunStore

    if output is not None:
        _check_folder(output)
    runs = [RunStore().get(name) for name in names]
    # Refuse a page without runs before anything is written.
    loads = [] if runs or output is None else committed_loads()
    fitted = fit_runs(runs, machine) if runs else fit_committed(machine)
    for table in rates_tables(fitted.calibration):
        table.show(console())
    if fitted.judged:
        errors_table(error_rows(fitted.judged)).show(console())
    for sentence in learned_from(fitted):
        console().print(sentence)
    if output is not None:
        calibration = on_own_machine(fitted, shipped_calibration()) if runs else fitted.calibration
        write_calibration(output, calibration)
        click.echo(f"written: {output}")
    if output is not None and not runs:
        throughput = output.with_name("throughput.json")
        write_trades(throughput, trades_of(loads))
        click.echo(f"written: {throughput}")


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
    from redolab.predict.calibrated_elsewhere import fit_committed
    from redolab.predict.calibration import read_calibration, shipped_calibration
    from redolab.predict.page import html_page
    from redolab.predict.prediction_errors import error_rows
    from redolab.predict.published import published_beside_ours
    from redolab.project import PROJECT
    from redolab.results.committed import FIRST_MACHINE, by_machine, committed_recoveries

    _check_folder(output)
    calibration = read_calibration(path) if path else shipped_calibration()
    # Published figures are compared with recoveries on one machine.
    runs = by_machine(committed_recoveries())[FIRST_MACHINE]
    errors = error_rows(fit_committed().judged)
    text = html_page(
        calibration, errors, sorted(PROJECT.results.glob("*.md")), published_beside_ours(runs), is_shipped=path is None
    )
    write_whole(output, text.encode())
    click.echo(f"written: {output}")


def _check_folder(output: Path) -> None:
    """Refuse an output whose folder is missing, before anything is computed."""
    if not output.absolute().parent.is_dir():
        raise click.UsageError(f"there is no folder {output.absolute().parent}: make it, or write elsewhere")


def _echo_json(content: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(content), indent=2).decode())
