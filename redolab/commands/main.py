"""The command line: it reads options, calls the package, and prints. It has a file for each group of commands.

The files import the packages of a command only when it runs, so that `--help` stays quick.
"""

from __future__ import annotations

import os
import sys

import click

from redolab.commands import (
    cluster,
    completion,
    experiments,
    fleet,
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
    watch,
)
from redolab.errors import Interrupted, LabError, said

# The matrices of a fit are small: threads of linear algebra would mostly wait. Set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    """Run the command line; an error of the lab becomes one line and an exit status."""
    debug = "--debug" in sys.argv
    try:
        commands.main(prog_name="redolab", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        click.echo(f"redolab: {error.format_message()}", err=True)
        sys.exit(2)
    except (LabError, OSError, Interrupted, KeyboardInterrupt) as error:
        sys.exit(said(error, debug=debug))


def _say_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from redolab import __version__
    from redolab.machine.commit import lab_commit

    click.echo(f"redolab {__version__}, commit {lab_commit() or 'unknown'}")
    context.exit()


class _Sectioned(click.Group):
    """A group that lists its commands under headings, in the order of `_SECTIONS`."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        margins = 6
        width = formatter.width - max(map(len, self.commands)) - margins
        for heading, verbs in _SECTIONS.items():
            with formatter.section(heading):
                listed = [(verb.name or "", verb.get_short_help_str(width)) for verb in verbs if not verb.hidden]
                formatter.write_dl(listed)


@click.group(cls=_Sectioned, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--debug", is_flag=True, help="On an error, show where in the lab it came from.")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_say_version, help="Show version and commit."
)
def commands(debug: bool) -> None:
    """Crash real MySQL, MariaDB and Percona servers on purpose, time their recovery, size their redo logs."""


_SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "A server is recovering, or has recovered": (watch.follow, timeline.timeline),
    "Plan a redo log": (
        sample.sample,
        sizing.size,
        fleet.fleet,
        sizing.predict,
        servers.capacity,
        watch.export,
        sizing.page,
        sizing.fit,
    ),
    "Query logs": (slowlog.slowlog,),
    "Crash servers in the lab": (
        machine.doctor,
        experiments.run,
        experiments.make_experiment,
        servers.servers,
        servers.server,
        storage.storage,
    ),
    "Runs and crash images": (
        runs.runs,
        runs.show,
        runs.report,
        runs.judge,
        runs.keep,
        runs.images,
        runs.recover,
        runs.rm,
        machine.clean,
    ),
    "Other machines": (
        machines.machines,
        machines.attach,
        virtual.vm,
        cluster.scheduler,
        cluster.worker,
        cluster.do_job,
    ),
    "This command": (completion.completion,),
}

for _verbs in _SECTIONS.values():
    for _verb in _verbs:
        commands.add_command(_verb)
