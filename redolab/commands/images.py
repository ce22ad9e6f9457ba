"""Crash images: listed; kept power cuts: recovered again."""

from __future__ import annotations

from pathlib import Path

import click

from redolab.commands.console import progress, show_or_say
from redolab.commands.machines import machine_option


@click.command()
@machine_option
def images() -> None:
    """List the crash images and datasets that are kept, with what they are for and what they take.

    `redolab rm NAME` removes one.
    """
    from redolab.commands.upkeep.housekeeping import kept_datasets, kept_images
    from redolab.commands.upkeep.kept_tables import datasets_table, images_table

    show_or_say(images_table(kept_images()), "no crash images yet: 'make experiment recovery' makes one")
    show_or_say(datasets_table(kept_datasets()), "no datasets yet")


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--server", help="Another server.  [default: the one that was under load]", metavar="NAME")
def recover(folder: Path, server: str | None) -> None:
    """Recover a power cut again that a run has kept as evidence, and judge it.

    FOLDER is its folder. A crash image is recovered again by `make experiment recovery IMAGE=NAME`.
    """
    from redolab.commands.upkeep.recover_cut import recover_cut

    recover_cut(folder, server, progress())
