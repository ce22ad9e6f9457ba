"""Predictions and sizes: `predict`, `size`, `fit`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from redolab.commands.address import GivenServer, address_options
from redolab.commands.console import console
from redolab.commands.given_limits import GivenLimits, limit_options
from redolab.commands.given_question import GivenQuestion, question_options
from redolab.commands.redo_source import GivenRedo, redo_options
from redolab.commands.shared_options import JSON

_WHY = click.option("--why", "with_why", is_flag=True, help="Show each term, and each reason for the interval's width.")


@click.command()
@click.option("--log-size", metavar="SIZE", help="Of the whole redo log, as in 8G.  [default: the asked server's]")
@question_options
@click.option(
    "--dirty-pages", type=click.IntRange(min=1), metavar="N", help="At the crash.  [default: as the workload]"
)
@click.option("--age", metavar="SIZE", help="Redo at the crash.  [default: the worst, where statements wait]")
@address_options
@_WHY
@JSON
def predict(
    log_size: str | None,
    given: GivenQuestion,
    dirty_pages: int | None,
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
    from redolab.predict.why import show_why
    from redolab.units import parse_size

    if server_at.is_named:
        if given.is_anything or any(each is not None for each in (log_size, dirty_pages, age)):
            raise click.UsageError("a server that is asked tells log, pool and age itself: give no other")
        _predict_now(server_at, given, with_why=with_why, as_json=as_json)
        return
    if server_at.is_anything:
        raise click.UsageError(
            "--port, --user and --ask-password are of a server that is asked: name it, as in --host NAME"
        )
    if log_size is None or not given.is_enough:
        raise click.UsageError(
            "give --server NAME, --log-size SIZE and --pool SIZE, or a server to ask as in --socket PATH"
        )
    question = replace(given.question(), dirty_pages=dirty_pages)
    prediction = predicted(model_for(question), parse_size(log_size), parse_size(age) if age else None)
    if as_json:
        _echo_json(prediction)
    else:
        show_predicted(console(), prediction)
        if with_why:
            show_why(console(), prediction.why)


def _predict_now(server_at: GivenServer, given: GivenQuestion, *, with_why: bool, as_json: bool) -> None:
    """Read a running server twice, a second apart, for its rate, and predict its recovery now and at worst."""
    import time

    from redolab.errors import LabError
    from redolab.predict.why import show_why
    from redolab.report.table import print_lines
    from redolab.watch.view import in_words, predicted_now, recovery_table
    from redolab.watch.watched import WatchedServer

    watched = WatchedServer(server_at.address(), given.storage, given.workload, given.server)
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
    if with_why and (terms := watched.expectations.why_at_worst()) is not None:
        show_why(console(), terms)


@click.command()
@redo_options
@limit_options
@click.option(
    "--until",
    type=click.Choice(["ready", "rolled-back"]),
    default="ready",
    show_default=True,
    help="What ends a recovery: the server answers, or all is rolled back too.",
)
@question_options
@click.option(
    "--compare", "with_others", is_flag=True, help="Show what others would set, and what recovery then costs."
)
@click.option("--cpus", type=click.IntRange(min=1), metavar="N", help="CPUs of the server, by which some others go.")
@click.option("--memory", metavar="SIZE", help="Memory of the server, by which some others go.")
@_WHY
@JSON
def size(
    redo: GivenRedo,
    allowed: GivenLimits,
    until: str,
    given: GivenQuestion,
    with_others: bool,
    cpus: int | None,
    memory: str | None,
    with_why: bool,
    as_json: bool,
) -> None:
    """Say which size of redo log to set.

    Of those that recover within the time the smallest that loses hardly any throughput, where that was measured under such a
    load; else the smallest that holds an hour of peak redo; else the largest. With the table that it comes from, and lines to
    paste. The redo is that of samples, of a server that is sampled now, or given.
    """
    from rich.console import Console

    from redolab.predict.advising import Sizing, sized
    from redolab.predict.asking import model_for
    from redolab.predict.compare import compared, compared_table
    from redolab.predict.demand import with_dirty_pages
    from redolab.predict.question import Until
    from redolab.predict.rules import ServerFacts
    from redolab.predict.size_in_words import show_sized
    from redolab.predict.trade import shipped_trades
    from redolab.predict.why import show_why
    from redolab.units import format_size, parse_size

    redo.check(is_described=given.is_enough)
    if given.undo_rows is not None and until == Until.READY:
        raise click.UsageError("--undo-rows counts with --until rolled-back alone")
    if with_others and with_why:
        raise click.UsageError("--why shows the terms of one size, and --compare many sizes: give one of the two")
    if not with_others and (cpus is not None or memory is not None):
        raise click.UsageError("--cpus and --memory count with --compare alone")
    limits, crash_time = allowed.limits(), allowed.crash_time()
    source = redo.source(with_hours=with_others)
    question = given.question(source.known)
    model = model_for(replace(question, until=Until(until)))
    # Programs read the answer alone.
    demand = source.demand(Console(stderr=True) if as_json else console())
    demand = with_dirty_pages(demand, model, source.dirty_pages)
    if with_others:
        facts = ServerFacts(
            pool=question.pool,
            os_log_written=demand.os_log_written_mean,
            os_log_written_hours=source.os_log_written_hours,
            cpus=cpus,
            memory=parse_size(memory) if memory else None,
        )
        others = compared(Sizing(model, demand, limits, shipped_trades(), crash_time), facts, source.log_size)
        title = f"{question.server}, pool {format_size(question.pool)}, on {question.storage}"
        if as_json:
            _echo_json(others)
        else:
            compared_table(others, limits, title, crash_time).show(console())
        return
    advice = sized(model, demand, limits, shipped_trades(), crash_time)
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
