"""Storages: the profiles there are, and measuring them."""

from __future__ import annotations

import sys

import click

from redolab.commands.console import console, progress
from redolab.commands.machines import machine_option


@click.group()
def storage() -> None:
    """List storage profiles, and measure storages against their figures."""


@storage.command("list")
def storage_list() -> None:
    """List the storage profiles with the figures they are to have."""
    from redolab.disks.catalogue import storage_catalogue
    from redolab.disks.disks_table import profiles_table

    profiles_table(storage_catalogue().items()).show(console())


@storage.command("check")
@click.argument("names", nargs=-1, required=True, metavar="PROFILE…")
@click.option("--beside-others", is_flag=True, help="Even beside a database server that is not the lab's.")
@machine_option
def storage_check(names: tuple[str, ...], beside_others: bool) -> None:
    """Measure storages with fio: what was asked, and what they are.

    PROFILE is a name of 'redolab storage list', or a folder's path as in /mnt/fast.
    """
    from redolab.disks.attaching import Storages, check_possible
    from redolab.disks.catalogue import storage_profile
    from redolab.disks.disks_table import disks_table
    from redolab.disks.figures import figures_off
    from redolab.lab import open_lab
    from redolab.runs.store import RunStore

    shown = progress()
    profiles = {name: storage_profile(name) for name in names}
    with open_lab(shown, RunStore().clear_unfinished, beside_others=beside_others) as lab:
        check_possible(profiles)
        with Storages(lab, profiles) as storages:
            checks = list(storages.disk_checks(list(profiles)))
    shown.console.print()
    disks_table(checks).show(shown.console)
    if any(figures_off(check) for check in checks):
        sys.exit(1)
