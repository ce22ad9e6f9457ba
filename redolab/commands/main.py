"""The command line: it reads what is asked, calls the package, and prints; a file for each group of verbs.

The files import what a verb needs when it is asked for, so that `--help` stays quick.
"""

from __future__ import annotations

import errno
import sys

import click

from redolab.commands import (
    cluster,
    completion,
    experiments,
    images,
    machine,
    machines,
    runs,
    sample,
    servers,
    sizing,
    slowlog,
    storage,
    timeline,
    virtual,
    watching,
)
from redolab.errors import Interrupted, LabError

_FULL = (errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    """Run the command line; errors of the lab become one line for a person and an exit status."""
    debug = "--debug" in sys.argv
    try:
        commands.main(prog_name="redolab", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        click.echo(f"redolab: {error.format_message()}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read the output (head, less) has seen enough.
        sys.stderr.close()
        sys.exit(1)
    except LabError as error:
        if debug:
            raise
        click.echo(f"redolab: {error}", err=True)
        for line in error.details:
            click.echo(f"    {line}", err=True)
        sys.exit(error.exit_status)
    except OSError as error:
        if debug or (error.filename is None and error.errno not in _FULL):
            raise
        remedy = "free some space" if error.errno in _FULL else "look at who owns it and where it lies"
        click.echo(f"redolab: {error.filename or 'the disk'}: {error.strerror}: {remedy}", err=True)
        sys.exit(1)
    except (Interrupted, KeyboardInterrupt) as stop:
        click.echo(f"redolab: {stop or 'stopped'}", err=True)
        sys.exit(130)


def _say_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked:
        return
    from redolab import __version__
    from redolab.machine.commit import lab_commit

    click.echo(f"redolab {__version__}, commit {lab_commit() or 'unknown'}")
    context.exit()


class _InOrder(click.Group):
    """Lists its commands in the order in which they are written here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--debug", is_flag=True, help="On an error, show where in the lab it came from.")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_say_version, help="Show version and commit."
)
def commands(debug: bool) -> None:
    """Crash real MySQL, MariaDB and Percona servers on purpose, time their recovery, size their redo logs."""


_IN_THE_ORDER_OF_A_DAYS_WORK: tuple[click.Command, ...] = (
    machine.doctor,
    servers.servers,
    servers.server,
    servers.capacity,
    experiments.run,
    experiments.make_experiment,
    experiments.torture,
    runs.runs,
    runs.show,
    runs.report,
    runs.judge,
    runs.rm,
    runs.results,
    images.images,
    images.recover,
    storage.storage,
    machines.machines,
    machines.attach,
    cluster.scheduler,
    cluster.worker,
    cluster.do_job,
    virtual.vm,
    timeline.timeline,
    watching.follow,
    slowlog.slowlog,
    sample.sample,
    watching.export,
    sizing.predict,
    sizing.size,
    sizing.fit,
    sizing.page,
    completion.completion,
    machine.clean,
)

for _verb in _IN_THE_ORDER_OF_A_DAYS_WORK:
    commands.add_command(_verb)
