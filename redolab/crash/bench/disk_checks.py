"""Records of a run's storages with fio's figures, written when a session begins."""

from __future__ import annotations

from collections.abc import Mapping

from redolab.disks.attaching import Storages
from redolab.disks.figures import DiskCheck, StorageRecord, figures_off
from redolab.disks.profiles import StorageProfile
from redolab.progress import Progress
from redolab.results.storages import STORAGES, storages_of
from redolab.runs.store import Run


def record_disks(
    run: Run, storages: Storages, profiles: Mapping[str, StorageProfile], progress: Progress, *, look: bool
) -> None:
    """Record every storage that the run has not recorded yet, with fio's figures if `look`. Print any not as asked."""
    session = len(run.record().sessions) - 1
    known = storages_of(run).on_machine_of(session)
    storages.check_same_disks(known)
    storages.overhead_from([each.check for each in known if each.check is not None])
    unknown = [name for name in profiles if name not in {each.storage for each in known}]

    def record(name: str, check: DiskCheck | None) -> None:
        about, lies_on = profiles[name].about, storages.lies_on(name)
        run.add_line(STORAGES, StorageRecord(storage=name, about=about, lies_on=lies_on, check=check, session=session))

    if not look:
        for name in unknown:
            record(name, None)
        return
    for check in storages.disk_checks(unknown):
        record(check.storage, check)
        names = ", ".join(figure.name for figure in figures_off(check))
        if names:
            progress.note(f"{check.storage} is not as asked: {names}; rows measured on it are marked")
