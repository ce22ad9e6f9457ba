"""The virtual machine of the lab: its box, up, halted, removed, and into it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from redolab.commands.console import console, progress

if TYPE_CHECKING:
    from redolab.machines.virtual.vagrant import Guest

_provider = click.option(
    "--provider", metavar="PROVIDER", help="libvirt or virtualbox.  [default: as vagrant/settings.yaml]"
)


@click.group()
def vm() -> None:
    """The virtual machine that MACHINE=vagrant goes to."""


@vm.command()
def box() -> None:
    """Build its box of Debian packages, unless it is built."""
    file = _guest("libvirt").build_box(progress())
    console().print(f"the box: {file}", highlight=False, soft_wrap=True)


@vm.command()
@_provider
def up(provider: str | None) -> None:
    """Bring it up: all that is missing is made."""
    guest = _guest(provider)
    guest.up(progress())
    console().print(f"the virtual machine: {guest.status()}", highlight=False)


@vm.command()
@_provider
def status(provider: str | None) -> None:
    """Say how it stands."""
    console().print(f"the virtual machine: {_guest(provider).status()}", highlight=False)


@vm.command()
@_provider
@click.argument("words", metavar="[COMMAND]…", nargs=-1)
def ssh(provider: str | None, words: tuple[str, ...]) -> None:
    """Log in to it as root, or run a command there."""
    from redolab.machines.virtual.vagrant import GUEST

    command = [*_guest(provider).ssh_words(), GUEST, *words]
    os.execvp(command[0], command)


@vm.command()
@_provider
def halt(provider: str | None) -> None:
    """Shut it down; its disks stay."""
    _guest(provider).halt(progress())


@vm.command()
@_provider
def destroy(provider: str | None) -> None:
    """Remove it with all that was made for it; the box and fetched runs stay."""
    from redolab.machines.remote.address import guest_address, note_machine

    _guest(provider).destroy(progress())
    note_machine(guest_address(provider), gone=True)
    console().print("nothing of the virtual machine is left", highlight=False)


def _guest(provider: str | None) -> Guest:
    from redolab.machines.virtual.vagrant import Guest

    return Guest(provider)
