"""Storages measured on their own, without a crash."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.disks.attaching import Storages, check_possible
from redolab.disks.catalogue import storage_profile
from redolab.disks.figures import figures_off
from redolab.disks.table import disks_table
from redolab.lab import open_lab
from redolab.progress import Progress
from redolab.runs.store import RunStore


def check_storages(names: Sequence[str], progress: Progress, *, beside_others: bool) -> bool:
    """Measure storages with fio, and show the requested and the measured figures. Return True if all agree.

    Raises `LabError`.
    """
    profiles = {name: storage_profile(name) for name in names}
    with open_lab(progress, RunStore().clear_unfinished, beside_others=beside_others) as lab:
        check_possible(profiles)
        with Storages(lab, profiles) as storages:
            checks = list(storages.disk_checks(list(profiles)))
    progress.console.print()
    disks_table(checks).show(progress.console)
    return not any(figures_off(check) for check in checks)
