"""Other machines: their jobs, attaching to a job, and cleaning up."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from redolab.commands.console import console, progress

if TYPE_CHECKING:
    from redolab.machines.remote.address import MachineAddress

_OPTION = "--machine"


def machine_option(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option `--machine`, to run on another machine instead of this one."""

    @click.option(
        _OPTION,
        default="local",
        metavar="MACHINE",
        help="Where: local, ssh:HOST or vagrant.  [default: local]",
    )
    @functools.wraps(verb)
    def anywhere(machine: str, **given: Any) -> None:
        from redolab.machines.remote.address import parse_machine

        address = parse_machine(machine)
        if address is None:
            verb(**given)
        else:
            server = given.get("server")
            run_on(address, _without_option(sys.argv[1:]), [server] if server else [])

    return anywhere


def run_on(address: MachineAddress, arguments: Sequence[str], servers: Sequence[str]) -> None:
    """Run the command line on another machine, and exit with its status."""
    from redolab.machines.remote.visit import run_there

    status = run_there(address, arguments, servers, progress())
    if status:
        sys.exit(status)


@click.group(invoke_without_command=True)
@click.pass_context
def machines(context: click.Context) -> None:
    """List the machines that the lab was on, and what runs there."""
    if context.invoked_subcommand is not None:
        return
    from redolab.commands.console import show_or_say
    from redolab.machines.remote.visit import machines_table

    show_or_say(
        machines_table(progress()), "no other machine yet: 'redolab run EXPERIMENT --machine ssh:HOST' goes to one"
    )


@machines.command("clean")
@click.argument("name", metavar="MACHINE")
def machines_clean(name: str) -> None:
    """Remove all that the lab has left on a machine; what was fetched from there stays."""
    from redolab.machines.remote.address import machine_named
    from redolab.machines.remote.visit import clean

    clean(machine_named(name), progress())
    console().print(f"nothing of the lab is left on {name}", highlight=False)


@click.command()
@click.argument("name", metavar="[MACHINE]", required=False)
def attach(name: str | None) -> None:
    """Show again what runs on another machine, and fetch its run.

    Without a MACHINE: the one that was used last.
    """
    from redolab.errors import InvalidInput
    from redolab.machines.remote.address import known_machines, machine_named
    from redolab.machines.remote.visit import attach as take_up

    known = known_machines()
    if name is None and not known:
        raise InvalidInput(
            "the lab was on no other machine yet", "'redolab run EXPERIMENT --machine ssh:HOST' goes to one"
        )
    status = take_up(machine_named(name) if name else known[-1], progress())
    if status:
        sys.exit(status)


def _without_option(arguments: Sequence[str]) -> list[str]:
    """Return the present command line without the option for the machine."""
    others, skip = [], False
    for word in arguments:
        if not skip and word != _OPTION and not word.startswith(f"{_OPTION}="):
            others.append(word)
        skip = word == _OPTION and not skip
    return others
