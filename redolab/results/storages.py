"""Recorded storages of a run, on each of its machines."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.disks.figures import StorageRecord
from redolab.runs.schema import Session
from redolab.runs.store import Run

STORAGES = "storages"


class RunStorages:
    """Recorded storages of a run, on each of its machines."""

    def __init__(self, sessions: Sequence[Session], records: Sequence[StorageRecord]) -> None:
        self.records = records
        self._sessions = sessions

    def of(self, storage: str, session: int) -> StorageRecord | None:
        """Return the last record of a storage on the machine of a session."""
        return next((record for record in reversed(self.on_machine_of(session)) if record.storage == storage), None)

    def on_machine_of(self, session: int) -> list[StorageRecord]:
        """Return all records on the machine of a session."""
        wanted = self._sessions[session].identity
        return [record for record in self.records if self._sessions[record.session].identity == wanted]


def storages_of(run: Run) -> RunStorages:
    """Return a run's storages. Raises `LabError`."""
    records = run.lines(STORAGES, StorageRecord)
    return RunStorages(run.record().sessions, records)
