"""Runs, crash images and kept power cuts: listed, shown, recovered again, removed."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.console import console, progress, show_or_say
from redolab.commands.machines import machine_option


@click.command()
def runs() -> None:
    """List the runs that are kept."""
    from redolab.commands.upkeep.kept import runs_table
    from redolab.runs.store import RunStore

    readable, errors = RunStore().readable()
    show_or_say(runs_table([record for _, record in readable]), "no runs yet: 'make experiment recovery' makes one")
    for error in errors:
        click.echo(f"left out: {error}", err=True)


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--all", "all_tables", is_flag=True, help="With every table that explains the first.")
def show(name: str, all_tables: bool) -> None:
    """Print a run's answer and table again.

    RUN is its name, the beginning of it, or `latest`.
    """
    from redolab.commands.upkeep.kept import show_run
    from redolab.runs.store import RunStore

    show_run(console(), RunStore().get(name), all_tables=all_tables)


@click.command()
@click.argument("name", metavar="RUN")
def report(name: str) -> None:
    """Make a run's tables and plots again.

    From what was recorded; RUN is its name, the beginning of it, or `latest`.
    """
    from redolab.runs.session import report_again

    report_again(name, progress())


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--jobs", default="2", help="How many states at a time.  [default: 2]", metavar="N")
def judge(name: str, jobs: str) -> None:
    """Judge a run again.

    Its states are recovered once more, and what the servers then hold becomes a verdict; nothing is timed.
    """
    from redolab.commands.upkeep.check_again import judge_run
    from redolab.runs.factors import whole_number

    judge_run(name, whole_number(1, 64)(jobs), progress())


@click.command()
@machine_option
def images() -> None:
    """List the crash images and datasets that are kept, with what they are for and what they take.

    `redolab rm NAME` removes one.
    """
    from redolab.commands.upkeep.kept import datasets_table, images_table

    show_or_say(images_table(), "no crash images yet: 'make experiment recovery' makes one")
    show_or_say(datasets_table(), "no datasets yet")


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--server", help="Another server.  [default: the one that was under load]", metavar="NAME")
def recover(folder: Path, server: str | None) -> None:
    """Recover a power cut again that a run has kept as evidence, and judge it.

    FOLDER is its folder. A crash image is recovered again by `make experiment recovery IMAGE=NAME`.
    """
    from redolab.commands.upkeep.recover_cut import recover_cut

    recover_cut(folder, server, progress())


@click.command()
@click.argument("name", metavar="NAME")
@machine_option
def rm(name: str) -> None:
    """Remove a run with the crash images it made, one crash image, or a dataset.

    The runs that used an image or a dataset keep their results.
    """
    from redolab.commands.upkeep.kept import remove

    for line in remove(progress(), name):
        click.echo(line)


@click.command()
@click.argument("folder", metavar="FOLDER")
@click.argument("kept", nargs=-1, required=True, metavar="RUN...")
def keep(folder: str, kept: tuple[str, ...]) -> None:
    """Keep runs among those that are committed, in a folder of data/measured.

    Their numbers are shown by notebooks: 'make results NAME=FOLDER' executes one, and makes its page of docs/results.
    """
    from redolab.runs.pages import LARGEST_FILE, keep_run, too_large
    from redolab.runs.store import RunStore

    for run in [RunStore().get(name) for name in kept]:
        click.echo(f"kept: {keep_run(folder, run)}")
        for path in too_large(run):
            click.echo(f"left out: {path}: larger than {LARGEST_FILE // 1_000_000} MB")
