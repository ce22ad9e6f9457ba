"""Crash images: listed, removed, recovered again."""

from __future__ import annotations

import click

from redolab.commands.console import progress, show_or_say
from redolab.commands.machines import machine_option


@click.command()
@machine_option
def images() -> None:
    """List the crash images that are kept."""
    from redolab.upkeep.housekeeping import kept_images
    from redolab.upkeep.kept_tables import images_table

    show_or_say(images_table(kept_images()), "no crash images yet: 'make experiment recovery' makes one")


@click.command("rm-image")
@click.argument("name", metavar="IMAGE")
@machine_option
def rm_image(name: str) -> None:
    """Remove a crash image.

    The runs that used it keep their results.
    """
    from redolab.upkeep.housekeeping import remove_image

    click.echo(remove_image(progress(), name))


@click.command()
@click.argument("image", metavar="IMAGE")
@click.option(
    "--server", help="Another server of the same redo format.  [default: the one that crashed]", metavar="NAME"
)
@click.option("--pool", help="Buffer pool sizes, with commas.  [default: one that holds the tables]", metavar="SIZE,…")
@click.option("--storage", help="Storages to recover on, with commas.  [default: native]", metavar="NAME,…")
@click.option(
    "--settings",
    help="Of the recovering server: NAME=VALUE, + between several, commas to compare.",
    metavar="SETTING,…",
)
@click.option("--repeat", default="3", help="How many recoveries for each.  [default: 3]", metavar="N")
@click.option("--seed", default="1", help="Of their random order.  [default: 1]", metavar="N")
@click.option(
    "--check-disks", default="on", help="Have fio look at every storage before.  [default: on]", metavar="on|off"
)
@click.option(
    "--stuck-after", default="2m", help="Without progress for so long, it is stuck.  [default: 2m]", metavar="TIME"
)
@click.option(
    "--warmup",
    default="0s",
    help="Start the workload's clients anew at ready, and follow them until throughput is back, for at most so long.  [default: not]",
    metavar="TIME",
)
@click.option("--beside-others", is_flag=True, help="Even beside a database server that is not the lab's.")
@machine_option
def recover(
    image: str,
    server: str | None,
    pool: str | None,
    storage: str | None,
    settings: str | None,
    repeat: str,
    seed: str,
    check_disks: str,
    stuck_after: str,
    warmup: str,
    beside_others: bool,
) -> None:
    """Time more recoveries from a kept crash image."""
    from redolab.runs.factors import on_or_off, several, whole_number
    from redolab.servers.asked import asked_settings
    from redolab.storage.known import storage_name
    from redolab.units import parse_duration, parse_size
    from redolab.upkeep.recover_image import recover_image

    recover_image(
        image,
        server,
        pools=several(parse_size)(pool) if pool else (),
        storages=several(storage_name)(storage) if storage else (),
        settings=several(asked_settings)(settings) if settings else (),
        repeat=whole_number(1, 1000)(repeat),
        seed=whole_number(0, 10**9)(seed),
        check_disks=on_or_off(check_disks),
        stuck_after=parse_duration(stuck_after),
        warm_for=parse_duration(warmup),
        beside_others=beside_others,
        progress=progress(),
    )
