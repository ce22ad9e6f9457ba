"""Crash images: listed, removed, recovered again."""

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
    from redolab.upkeep.housekeeping import kept_datasets, kept_images
    from redolab.upkeep.kept_tables import datasets_table, images_table

    show_or_say(images_table(kept_images()), "no crash images yet: 'make experiment recovery' makes one")
    show_or_say(datasets_table(kept_datasets()), "no datasets yet")


@click.command()
@click.argument("image", metavar="IMAGE")
@click.option(
    "--server",
    help="Another server of the same redo format.  [default: the one that crashed]",
    metavar="NAME",
)
@click.option("--pool", help="Buffer pool sizes, with commas.  [default: one that holds the tables]", metavar="SIZE,…")
@click.option(
    "--storage",
    help="Storages to recover on, with commas.  [default: native]",
    metavar="NAME,…",
)
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
    "--stuck-after", default="60s", help="Without progress for so long, it is stuck.  [default: 60s]", metavar="TIME"
)
@click.option(
    "--warmup",
    default="0s",
    help="Start the workload's clients anew at ready, and follow them until throughput is back, for at most so long.  [default: not]",
    metavar="TIME",
)
@click.option("--beside-others", is_flag=True, help="Even beside a database server that is not the lab's.")
@click.option(
    "--checked",
    is_flag=True,
    help="Time nothing: recover with a small pool, several at once, and judge what they hold.",
)
@click.option("--jobs", default="2", help="With --checked: how many at a time.  [default: 2]", metavar="N")
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
    checked: bool,
    jobs: str,
) -> None:
    """Time more recoveries from a kept crash image, or only judge what they hold.

    IMAGE may also be the folder of a power cut that a run has kept as evidence: its state is recovered again, and judged.
    """
    from redolab.powercut.kept_cut import is_kept_cut
    from redolab.runs.factors import on_or_off, several, whole_number
    from redolab.servers.extra_settings import asked_settings
    from redolab.storage.catalogue import storage_name
    from redolab.units import parse_duration, parse_size
    from redolab.upkeep.recover_image import recover_image

    if is_kept_cut(Path(image)):
        from redolab.upkeep.recover_cut import recover_cut

        recover_cut(Path(image), server, progress())
        return
    if checked:
        from redolab.upkeep.judging import check_image

        check_image(
            image,
            server,
            pool=parse_size(pool) if pool else None,
            settings=asked_settings(settings) if settings else "",
            repeat=whole_number(1, 100_000)(repeat),
            jobs=whole_number(1, 64)(jobs),
            progress=progress(),
        )
        return
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
