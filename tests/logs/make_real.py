"""Makes the golden logs under tests/logs/real anew: real recoveries of every server of the catalogue.

    .venv/bin/python -m tests.logs.make_real [SERVER…]

Each server is crashed and recovered in five ways; what it prints from the start of the recovery to its clean end is the log,
and the timelines that the parser finds in it are the JSON beside it: read the difference before committing it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from rich.console import Console

from redolab.crashes.images import CrashImage, ImageStore
from redolab.lab import Lab, native_folder, open_lab
from redolab.machine import copies, files
from redolab.machine.page_cache import drop_page_cache
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.dialects import Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.servers.known import server_catalogue
from redolab.timeline import timelines, to_json
from redolab.timeline.logs import read_log
from redolab.units import MIB
from tests.small_crash import small_crash

REAL = Path(__file__).parent / "real"
_LARGE_POOL = 128 * MIB
_SMALL_POOL = 16 * MIB
_KILLED_AFTER = 0.5
"""Of the time that the same recovery took when it was left alone."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to crash and to recover."""

    name: str
    open_transaction_rows: int = 0
    binary_log: bool = False
    pool: int = _LARGE_POOL
    killed_once: bool = False
    """Killed in the middle of its recovery, and started again."""


VARIANTS = (
    Variant("plain"),
    Variant("binlog", binary_log=True),
    Variant("rollback", open_transaction_rows=100_000),
    Variant("small-pool", open_transaction_rows=100_000, pool=_SMALL_POOL),
    Variant("recovery-crash", open_transaction_rows=100_000, killed_once=True),
)


def main(names: list[str]) -> None:
    """Make the logs of these servers, or of all."""
    REAL.mkdir(exist_ok=True)
    with open_lab(Progress(Console()), RunStore().clear_unfinished) as lab:
        for name in names or server_catalogue().names():
            _make_all(lab, native_folder(lab.folder), lab.server(name))


def _make_all(lab: Lab, home: Path, server: InstalledServer) -> None:
    images = ImageStore(home)
    crashes: dict[tuple[int, bool], CrashImage] = {}
    for variant in VARIANTS:
        crash = (variant.open_transaction_rows, variant.binary_log)
        if crash not in crashes:
            crashes[crash] = small_crash(
                lab,
                home,
                server,
                log_size=64 * MIB,
                open_transaction_rows=variant.open_transaction_rows,
                binary_log=variant.binary_log,
            )
        log = REAL / f"{server.name}-{variant.name}.log"
        _recover(lab, home, server, images, crashes[crash], variant, log)
        found = [to_json(timeline) for timeline in timelines(read_log(log))]
        log.with_suffix(".json").write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    for image in crashes.values():
        images.remove(image.name)


def _recover(
    lab: Lab, home: Path, server: InstalledServer, images: ImageStore, image: CrashImage, variant: Variant, log: Path
) -> None:
    folder = home / "instances" / f"golden-{server.name}"
    request = replace(image.spec.instance, purpose=Purpose.RECOVER, buffer_pool=variant.pool)
    took = 0.0

    def copy_and_start(into: Path) -> Instance:
        prepare_folder(server, folder)
        files.remove(folder / DATA)
        copies.copy_folder(images.data(image), folder / DATA)
        drop_page_cache()
        return Instance.start(server, folder, request, into)

    with lab.journal.making(folder, f"a recovery of {server.name} for the golden logs"):
        with lab.progress.stage(f"{server.name} {variant.name}"), copy_and_start(log) as instance:
            began = time.monotonic()
            instance.watch(600, instance.has_recovered)
            took = time.monotonic() - began
            instance.shut_down()
        if variant.killed_once:
            first = log.with_suffix(".first")
            with copy_and_start(first) as instance:
                instance.watch(600, _passed(took * _KILLED_AFTER))
                instance.kill()
            with Instance.start(server, folder, request, log) as instance:
                instance.watch(600, instance.has_recovered)
                instance.shut_down()
            log.write_bytes(first.read_bytes() + log.read_bytes())
            first.unlink()


def _passed(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: time.monotonic() >= until


if __name__ == "__main__":
    main(sys.argv[1:])
