"""One crash and one recovery for an experiment of its own: a crash image, and the server that has recovered a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from redolab.clock import now
from redolab.crash.bench.started_server import StartedServer
from redolab.crash.crash import CrashLoad, WantedState, crash_images
from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import CrashImage
from redolab.crash.recovery.cold_copy import cold_copy
from redolab.crash.recovery.task import recovery_request
from redolab.crash.wanted import WantedCrash, crash_spec
from redolab.disks.place import Place, own_place
from redolab.errorlog import Event
from redolab.lab import Lab
from redolab.runs.bench import StepContext
from redolab.runs.needs import Needs
from redolab.runs.store import Run
from redolab.servers import sizes
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance
from redolab.units import format_size
from redolab.workloads.catalogue import workload_catalogue

_ANSWER = 60.0
"""Seconds for which a statement may take."""


@dataclass(frozen=True, slots=True)
class RecoveredServer(StartedServer):
    """A server that has become ready after a crash."""

    ready_s: float
    """Recovery time in seconds."""
    read_at_ready: int | None

    def since_ready(self) -> float:
        """Return the seconds since it became ready."""
        return now().monotonic - self.instance.started.monotonic - self.ready_s

    def read_since_ready(self) -> int | None:
        """Return the bytes that it has read from disks since it became ready; None where that is unknown."""
        moved = self.instance.bytes_moved()
        return None if moved is None or self.read_at_ready is None else moved[0] - self.read_at_ready


def one_crash_needs(lab: Lab, wanted: WantedCrash) -> Needs:
    """Return the most that a crash and a recovery need, where each image goes before the next is made."""
    pool, log = wanted.buffer_pool(wanted.log_size), wanted.log_size
    room = sizes.crash_and_recovery(wanted.dataset_size(log), log, images=1, binary_log=log if wanted.binary_log else 0)
    return Needs(
        memory=pool,
        disk={lab.home: room},
        disk_for={lab.home: f"a redo log of {format_size(log)} with dataset, crash image and copy"},
        remedy="choose a smaller LOGSIZE or DATASET",
    )


@contextmanager
def crashed(
    lab: Lab,
    run: Run,
    server: InstalledServer,
    wanted: WantedCrash,
    before_crash: Callable[[Instance], None] | None = None,
) -> Iterator[CrashImage]:
    """Crash a server under load, and provide its crash image during the block. Its dataset stays for later runs.

    `before_crash` is called with the server under load when its crash is due. Raises `LabError`.
    """
    workload = workload_catalogue().get(wanted.workload)
    workload.require(lab)
    state = WantedState(spec=crash_spec(server, wanted))
    load = CrashLoad(
        server=server, workload=workload, wanted=[state], failed=run.folder / "failed", before_crash=before_crash
    )
    (image,) = crash_images(lab, load)
    with lab.journal.temporary(ImageStore(lab.home).folder(image.name), f"the crash image {image.name} of {run.name}"):
        yield image


@contextmanager
def recovered(
    lab: Lab,
    at: StepContext[Any],
    server: InstalledServer,
    image: CrashImage,
    *,
    pool: int | None = None,
    settings: str = "",
    place: Place | None = None,
) -> Iterator[RecoveredServer]:
    """Recover a copy of a crash image, cold, and provide the server during the block, which begins when it is ready.

    `pool`: bytes of its buffer pool; None: as under load. `settings`: as `SETTINGS=` takes them. `place`: attached
    storage for the copy; None: the lab's own. Raises `LabError`.
    """
    place = place or own_place(lab.home)
    request = recovery_request(image, pool or image.spec.instance.buffer_pool, settings)
    log = at.run.log(f"{at.position + 1:03}-{server.name}")
    with (
        cold_copy(lab, server, image, ImageStore(lab.home), place) as cold,
        lab.progress.stage(f"recovery of {image.name} on {place.name}", "recover"),
        place.limited(),
        Instance.start(server, cold.folder, request, log) as instance,
    ):
        # Before it is ready: nothing of the lab's may come between that and the experiment's first statement.
        requested = instance.requested()
        digest = at.run.keep_once(requested)
        instance.wait_ready()
        moved, ready_s = instance.bytes_moved(), instance.seconds_to(Event.READY)
        assert ready_s is not None
        with instance.answering(), instance.connections.connect(answer=_ANSWER) as connection:
            read = None if moved is None else moved[0]
            yield RecoveredServer(instance, connection, requested, digest, ready_s, read)
