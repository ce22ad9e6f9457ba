"""The command line: it reads what is asked, calls the package, and prints; the verbs stand in the order of a day's work."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redolab.errors import Interrupted, LabError

if TYPE_CHECKING:
    from redolab.progress import Progress


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


class _Experiments(click.Group):
    """One command an experiment, its options made from the experiment's factors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from redolab.experiments import experiment_names

        return experiment_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        from redolab.experiments import factors_of, load_experiment, read_factors

        experiment = load_experiment(cmd_name)

        def run(**given: str | None) -> None:
            experiment.run(read_factors(experiment, given), _progress())

        options: list[click.Parameter] = [
            click.Option(
                [each.option, each.name],
                help=each.about
                + (f"  [default: {each.default}]" if each.default is not None and not each.switch else ""),
                metavar=None if each.switch else each.variable,
                is_flag=each.switch,
                flag_value="on" if each.switch else None,
            )
            for each in factors_of(experiment)
        ]
        return click.Command(cmd_name, params=options, callback=run, help=experiment.question)


class _InOrder(click.Group):
    """Lists its commands in the order in which they are written here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--debug", is_flag=True, help="On an error, show where in the lab it came from.")
@click.version_option(package_name="redolab")
def commands(debug: bool) -> None:
    """Crash real MySQL, MariaDB and Percona servers on purpose, time their recovery, size their redo logs."""


@commands.command()
@click.option("--log-size", default="8G", metavar="SIZE", help="For a redo log of this size.  [default: 8G]")
def doctor(log_size: str) -> None:
    """Show what this machine offers and lacks."""
    from redolab.doctor import examine
    from redolab.units import parse_size

    report = examine(parse_size(log_size))
    report.table.show(_console())
    sys.exit(0 if report.fit else 1)


@commands.command()
def servers() -> None:
    """List the servers that can be asked for."""
    from redolab.housekeeping import listed_servers
    from redolab.report.servers_table import servers_table

    servers_table(listed_servers()).show(_console())


@commands.group()
def server() -> None:
    """Add servers of your own, and remove them."""


@server.command("add")
@click.argument("name")
@click.option("--tarball", type=click.Path(path_type=Path), help="A vendor's generic Linux tarball.", metavar="FILE")
@click.option("--sha256", help="The tarball's checksum, which is checked; without it, it is shown.", metavar="SUM")
@click.option("--path", type=click.Path(path_type=Path), help="A build tree or an installed server.", metavar="DIR")
def server_add(name: str, tarball: Path | None, sha256: str | None, path: Path | None) -> None:
    """Add a server of your own as NAME; family and version are read from its binary."""
    from redolab.housekeeping import add_server

    click.echo(add_server(_progress(), name, tarball, sha256, path))


@server.command("rm")
@click.argument("name")
def server_rm(name: str) -> None:
    """Forget a server of your own, and remove what was unpacked of it."""
    from redolab.housekeeping import remove_server

    click.echo(remove_server(_progress(), name))


@commands.command()
@click.option("--server", "name", metavar="NAME", help="One server, with its option file lines.  [default: all]")
@click.option("--log-size", default="8G", metavar="SIZE", help="All redo log files together.  [default: 8G]")
def capacity(name: str | None, log_size: str) -> None:
    """Show what a redo log of a size holds.

    Its files, its usable bytes, the checkpoint ages at which flushing is forced and at which statements wait.
    """
    from redolab.lab import server_catalogue
    from redolab.report.capacity_table import capacity_table, option_lines, server_capacity
    from redolab.units import parse_size

    catalogue = server_catalogue()
    names = [name] if name else catalogue.names()
    rows = [server_capacity(each, catalogue.get(each).dialect(), parse_size(log_size)) for each in names]
    capacity_table(rows).show(_console())
    if name:
        click.echo("\n".join(["", *option_lines(rows[0])]))


@commands.group(cls=_Experiments)
def run() -> None:
    """Run an experiment."""


@commands.command("make-experiment", hidden=True)
@click.argument("name")
def make_experiment(name: str) -> None:
    """What `make experiment NAME VAR=value` calls: the variables are read from the environment."""
    from redolab.experiments import given_to_make, load_experiment, read_factors

    experiment = load_experiment(name)
    experiment.run(read_factors(experiment, given_to_make(experiment)), _progress())


@commands.command()
def runs() -> None:
    """List the runs that are kept."""
    from redolab.report.runs_table import runs_table
    from redolab.results import RunStore

    _show_or_say(runs_table(RunStore().all()), "no runs yet: 'make experiment recovery' makes one")


@commands.command()
@click.argument("name", metavar="RUN")
def show(name: str) -> None:
    """Print a run's table again.

    RUN is its name, the beginning of it, or `latest`.
    """
    from redolab.experiments import load_experiment
    from redolab.report.runs_table import show_run
    from redolab.results import RunStore

    run = RunStore().get(name)
    show_run(_console(), run, load_experiment(run.record().experiment).report)


@commands.command()
@click.argument("name", metavar="RUN")
def rm(name: str) -> None:
    """Remove a run and the crash images it made."""
    from redolab.housekeeping import remove_run

    for line in remove_run(_progress(), name):
        click.echo(line)


@commands.command()
def images() -> None:
    """List the crash images that are kept."""
    from redolab.housekeeping import kept_images
    from redolab.report.runs_table import images_table

    _show_or_say(images_table(kept_images()), "no crash images yet: 'make experiment recovery' makes one")


@commands.command("rm-image")
@click.argument("name", metavar="IMAGE")
def rm_image(name: str) -> None:
    """Remove a crash image.

    The runs that used it keep their results.
    """
    from redolab.housekeeping import remove_image

    click.echo(remove_image(_progress(), name))


@commands.command()
@click.argument("image", metavar="IMAGE")
@click.option(
    "--server", help="Another server of the same redo format.  [default: the one that crashed]", metavar="NAME"
)
@click.option("--pool", help="Buffer pool sizes, with commas.  [default: as when it crashed]", metavar="SIZE,…")
@click.option("--storage", help="Storages to recover on, with commas.  [default: native]", metavar="NAME,…")
@click.option("--repeat", default="3", help="How many recoveries for each.  [default: 3]", metavar="N")
@click.option("--seed", default="1", help="Of their random order.  [default: 1]", metavar="N")
@click.option(
    "--check-disks", default="on", help="Have fio look at every storage before.  [default: on]", metavar="on|off"
)
def recover(
    image: str, server: str | None, pool: str | None, storage: str | None, repeat: str, seed: str, check_disks: str
) -> None:
    """Time more recoveries from a kept crash image."""
    from redolab.experiments import on_or_off, several, storage_name, whole_number
    from redolab.recovery_run import recover_image
    from redolab.units import parse_size

    pools = several(parse_size)(pool) if pool else ()
    storages = several(storage_name)(storage) if storage else ()
    repeats, drawn = whole_number(1, 1000)(repeat), whole_number(0, 10**9)(seed)
    recover_image(image, server, pools, storages, repeats, drawn, _progress(), check_disks=on_or_off(check_disks))


@commands.group()
def storage() -> None:
    """What a data directory can lie on, and whether it is what it is said to be."""


@storage.command("list")
def storage_list() -> None:
    """List the storage profiles with the figures they are to have."""
    from redolab.lab import storage_catalogue
    from redolab.report.storage_table import profiles_table

    profiles_table(storage_catalogue().items()).show(_console())


@storage.command("check")
@click.argument("names", nargs=-1, required=True, metavar="PROFILE…")
def storage_check(names: tuple[str, ...]) -> None:
    """Measure storages with fio: what was asked, and what they are.

    PROFILE is a name of 'redolab storage list', or a folder's path as in /mnt/fast.
    """
    from redolab.storage.checking import check_storages

    if not check_storages(names, _progress()):
        sys.exit(1)


@commands.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file, for programs.")
def timeline(files: tuple[Path, ...], as_json: bool) -> None:
    """Show the recoveries in error logs.

    For every crash recovery in the files (- for standard input): its phases, how much redo, and what could not be told.
    """
    from redolab.report.timeline_report import report_timelines

    if not report_timelines(_console(), files, as_json):
        sys.exit(1)


@commands.command()
@click.argument("files", nargs=-1, metavar="[FILE…]", type=click.Path(path_type=Path))
@click.option(
    "--defaults-file", type=click.Path(path_type=Path), metavar="FILE", help="An option file's [client] part."
)
@click.option("--socket", metavar="PATH", help="The server's unix socket.")
@click.option("--host", metavar="NAME", help="The server's host.")
@click.option("--port", type=int, metavar="N", help="Its port.  [default: 3306]")
@click.option("--user", metavar="NAME", help="Who asks.  [default: as the clients do]")
@click.option("--ask-password", is_flag=True, help="Prompt for the password; else option file or $MYSQL_PWD have it.")
@click.option("--every", default="1s", metavar="TIME", help="Time between two samples, 0.1s to 1h.  [default: 1s]")
@click.option("--for", "seconds", metavar="TIME", help="How long.  [default: until Ctrl-C]")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Keep samples: .csv or .parquet.")
def sample(
    files: tuple[Path, ...],
    defaults_file: Path | None,
    socket: str | None,
    host: str | None,
    port: int | None,
    user: str | None,
    ask_password: bool,
    every: str,
    seconds: str | None,
    output: Path | None,
) -> None:
    """Show how much redo a server of yours writes.

    It is only read: one connection, one statement a sample. With FILEs, what was collected before is worked out
    instead: mysqladmin extended-status -i, pt-stalk's -mysqladmin, CSV or Parquet with a time and a counter.
    """
    from redolab.live.connecting import Address
    from redolab.live.watching import sample_files, sample_live
    from redolab.units import parse_duration

    address = Address(defaults_file, socket, host, port, user)
    if files:
        if address != Address() or output is not None:
            raise click.UsageError("FILEs are read instead of a server: give either, and no -o with them")
        for path, table in sample_files(files):
            click.echo(str(path))
            table.show(_console())
        return
    address.check()
    asked = click.prompt("Password", hide_input=True, default="", show_default=False) if ask_password else None
    duration = parse_duration(seconds) if seconds else None
    sample_live(_console(), address.with_password(asked), parse_duration(every), duration, output)


@commands.command()
def clean() -> None:
    """Remove all that the lab made for itself.

    Servers, tools, datasets and crash images go; runs and their results stay.
    """
    from redolab.housekeeping import clean as remove_all

    for line in remove_all(_progress()):
        click.echo(line)


def _console() -> Any:
    from rich.console import Console

    from redolab.report.table import PAGE

    return Console(width=None if sys.stdout.isatty() else PAGE)


def _progress() -> Progress:
    from redolab.progress import Progress

    return Progress(_console())


def _show_or_say(table: Any, nothing: str) -> None:
    if table.cells:
        table.show(_console())
    else:
        click.echo(nothing)
