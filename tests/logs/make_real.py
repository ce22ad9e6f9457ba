"""Makes the golden logs under tests/logs/real anew: real recoveries of every server of the catalogue.

    .venv/bin/python -m tests.logs.make_real [SERVER[-VARIANT]…]

Each server is crashed and recovered in these ways; what it prints from the start of the recovery to its clean end is the log,
and the timelines that the parser finds in it are the JSON beside it: read the difference before committing it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import pymysql
from rich.console import Console

from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import CrashImage
from redolab.errorlog import as_json, timelines
from redolab.errorlog.collapse import collapsed
from redolab.errorlog.files import read_log
from redolab.lab import Lab, native_folder, open_lab
from redolab.machine import copies, files
from redolab.machine.page_cache import drop_page_cache
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
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
    prepared_transactions: int = 0
    """On servers that keep them; each takes several lines, so that of these only the first few hundred are kept."""
    verbosity: int | None = None
    """log_error_verbosity of MySQL 5.7 and later; then a clean start follows in the log."""


VARIANTS = (
    Variant("plain"),
    Variant("binlog", binary_log=True),
    Variant("rollback", open_transaction_rows=100_000),
    Variant("small-pool", open_transaction_rows=100_000, pool=_SMALL_POOL),
    Variant("recovery-crash", open_transaction_rows=100_000, killed_once=True),
    Variant("prepared", prepared_transactions=2000),
    Variant("verbosity2", verbosity=2),
    Variant("verbosity2-binlog", verbosity=2, binary_log=True),
    Variant("verbosity2-rollback", verbosity=2, open_transaction_rows=100_000),
)


def main(wanted: list[str]) -> None:
    """Make these logs, named SERVER or SERVER-VARIANT, or all."""
    REAL.mkdir(exist_ok=True)
    with open_lab(Progress(Console()), RunStore().clear_unfinished) as lab:
        for name in server_catalogue().names():
            variants = [v for v in VARIANTS if not wanted or {name, f"{name}-{v.name}"} & set(wanted)]
            if variants:
                _make(lab, native_folder(lab.folder), lab.server(name), variants)


def _make(lab: Lab, home: Path, server: InstalledServer, variants: list[Variant]) -> None:
    images = ImageStore(home)
    crashes: dict[tuple[int, bool, int], CrashImage] = {}
    for variant in variants:
        if variant.verbosity and not _writes_notes_only_if_asked(server):
            continue
        if variant.prepared_transactions and not server.dialect.prepared_stay:
            continue
        crash = (variant.open_transaction_rows, variant.binary_log, variant.prepared_transactions)
        if crash not in crashes:
            crashes[crash] = small_crash(
                lab,
                server,
                log_size=64 * MIB,
                open_transaction_rows=variant.open_transaction_rows,
                binary_log=variant.binary_log,
                prepared_transactions=variant.prepared_transactions,
            )
        log = REAL / f"{server.name}-{variant.name}.log"
        _recover(lab, home, server, images, crashes[crash], variant, log)
        if variant.prepared_transactions:
            lines = log.read_text().splitlines()
            log.write_text("".join(f"{line}\n" for line, _ in collapsed(lines, [None] * len(lines))))
        found = [json.loads(as_json(timeline)) for timeline in timelines(read_log(log))]
        log.with_suffix(".json").write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    for image in crashes.values():
        images.remove(image.name, lab.journal)


def _writes_notes_only_if_asked(server: InstalledServer) -> bool:
    request = InstanceRequest(purpose=Purpose.RECOVER, log_size=64 * MIB, buffer_pool=_LARGE_POOL)
    return any(setting.name == "log_error_verbosity" for setting in server.dialect.settings(request))


def _recover(
    lab: Lab, home: Path, server: InstalledServer, images: ImageStore, image: CrashImage, variant: Variant, log: Path
) -> None:
    folder = home / "instances" / f"golden-{server.name}"
    request = replace(image.spec.instance, purpose=Purpose.RECOVER, buffer_pool=variant.pool)
    if variant.verbosity:
        said = Setting("log_error_verbosity", str(variant.verbosity), "as users have it")
        request = replace(request, overrides=(said,))
    took = 0.0

    def is_over(instance: Instance) -> Callable[[], bool]:
        # MySQL 5.7 does not say that it is ready when it writes no notes.
        return partial(_answers, instance) if variant.verbosity else instance.has_recovered

    def start(into: Path) -> Instance:
        return Instance.start(server, folder, request, into)

    def copy_and_start(into: Path) -> Instance:
        prepare_folder(server, folder)
        files.remove(folder / DATA)
        copies.copy_folder(images.data(image), folder / DATA)
        drop_page_cache()
        return start(into)

    with lab.journal.making(folder, f"a recovery of {server.name} for the golden logs"):
        with lab.progress.stage(f"{server.name} {variant.name}"), copy_and_start(log) as instance:
            began = time.monotonic()
            instance.watch(600, is_over(instance))
            took = time.monotonic() - began
            instance.shut_down()
        first = log.with_suffix(".first")
        if variant.killed_once:
            with copy_and_start(first) as instance:
                instance.watch(600, _passed(took * _KILLED_AFTER))
                instance.kill()
        if variant.killed_once or variant.verbosity:
            first = first if variant.killed_once else log.rename(first)
            with start(log) as instance:
                instance.watch(600, is_over(instance))
                instance.shut_down()
            log.write_bytes(first.read_bytes() + log.read_bytes())
            first.unlink()
        for stamps in REAL.glob("*.arrivals"):
            stamps.unlink()


def _answers(instance: Instance) -> bool:
    try:
        instance.connections.connect(1).close()
    except (pymysql.err.Error, OSError):
        return False
    return True


def _passed(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: time.monotonic() >= until


if __name__ == "__main__":
    main(sys.argv[1:])
