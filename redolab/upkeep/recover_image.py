"""More recoveries from a kept crash image: a run of the recovery experiment whose crash is made already."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.bench.checks import check_warm_up
from redolab.bench.planning import plan_of_image
from redolab.lab import open_lab
from redolab.progress import Progress
from redolab.runs.factors import words
from redolab.runs.session import start_run
from redolab.runs.store import RunStore
from redolab.servers.catalogue import server_catalogue
from redolab.states.images import ImageStore, check_format

_EXPERIMENT = "recovery"


def recover_image(
    name: str,
    server: str | None,
    *,
    pools: Sequence[int],
    storages: Sequence[str],
    settings: Sequence[str],
    repeat: int,
    seed: int,
    check_disks: bool,
    stuck_after: float,
    warm_for: float,
    beside_others: bool,
    progress: Progress,
) -> None:
    """Recover a kept image by its own server and with its own buffer pool unless others are given. Raises `LabError`."""
    check_warm_up(warm_for)
    store = RunStore()
    with open_lab(progress, store.clear_unfinished, beside_others=beside_others) as lab:
        image = ImageStore(lab.home).get(name)
        recovering = server or image.spec.dataset.server
        check_format(image, recovering, server_catalogue().get(recovering).dialect())
        plan = plan_of_image(
            image,
            recovering,
            pools,
            storages,
            settings,
            repeat=repeat,
            seed=seed,
            check_disks=check_disks,
            stuck_after=stuck_after,
            warm_for=warm_for,
        )
        lab.server(recovering)
        options = {
            "image": name,
            "server": recovering,
            "storage": ",".join(plan.conditions.storages),
            "pool": words(tuple(dict.fromkeys(planned.step.pool for planned in plan.steps))),
            "repeat": str(repeat),
            "seed": str(seed),
            **({"settings": words(tuple(settings))} if any(settings) else {}),
        }
        start_run(lab, store, _EXPERIMENT, plan, options)
