"""A question about recoveries of a server, and the trained model that answers it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redolab.predict.calibration import CalibratedServer, CalibratedWorkload, Calibration
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.predict import Until
from redolab.predict.recovery_time.terms import DiskRates
from redolab.servers.dialects import LARGEST_BINARY_LOG, Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Conditions of the recoveries in question; sizes in bytes."""

    server: str
    storage: str
    pool: int
    workload: str | None = None
    """Name of a calibrated workload whose kind of redo is assumed; None: the slowest."""
    dirty_pages: int | None = None
    undo_rows: int | None = None
    tables: int | None = None
    binary_log: int | None = None
    """Bytes of the binary log's last file at the crash, 0 without one; None: as many as it has at most, as shipped."""
    read_threads: int | None = None
    """innodb_read_io_threads; None: the version's default on up to 8 CPUs."""
    until: Until = Until.READY
    """End of the outage; with ROLLED_BACK, predictions include the rollback of `undo_rows`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Everything that answers a question except the log size."""

    question: Question
    calibration: Calibration
    dialect: Dialect
    server: CalibratedServer
    measured_as: str
    """Name of the calibrated server whose rates are used."""
    disk: DiskRates
    storage: str
    workload: str
    learned: CalibratedWorkload
    extrapolations: tuple[HeldOut, ...]
    """Ways in which every prediction extrapolates beyond the measurements."""
    warnings: tuple[str, ...]

    @property
    def binary_log(self) -> int:
        """Bytes of the binary log's last file at the crash."""
        if self.question.binary_log is not None:
            return self.question.binary_log
        return LARGEST_BINARY_LOG if self.dialect.ships_binary_log else 0

    @property
    def read_threads(self) -> int:
        """innodb_read_io_threads as given, else the version's default on a host with few CPUs."""
        return self.question.read_threads or self.dialect.default_read_threads(cpus=1)

    def until(self, end: Until) -> Model:
        """Return the model with another end of the outage."""
        return replace(self, question=replace(self.question, until=end))

    def with_read_threads(self, read_threads: int) -> Model:
        """Return the model with another number of read threads."""
        return replace(self, question=replace(self.question, read_threads=read_threads))

    def with_pool(self, pool: int) -> Model:
        """Return the model with another buffer pool, in bytes."""
        return replace(self, question=replace(self.question, pool=pool))
