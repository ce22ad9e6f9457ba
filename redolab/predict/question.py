"""A question about recoveries of a server, and the trained model that answers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from redolab.errors import InvalidInput
from redolab.predict.calibration import CalibratedServer, CalibratedWorkload, Calibration
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.terms import DiskRates
from redolab.predict.recovery_time.work import CrashSize, Work
from redolab.servers.dialects import LARGEST_BINARY_LOG, Dialect
from redolab.servers.sizes import check_log_size
from redolab.units import format_size


class Until(StrEnum):
    """The event that counts as the end of a recovery."""

    READY = "ready"
    """The server answers; uncommitted transactions may still be rolled back in the background."""
    ROLLED_BACK = "rolled-back"


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
    prepared_rows: int | None = None
    """Rows of a transaction that the crash cuts off while it is written to the binary log: it is prepared, and rolled back."""
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
    fitted: CalibratedWorkload
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

    def worst_age(self, log_size: int) -> int:
        """Return the checkpoint age in bytes at which statements wait; no load gets beyond it."""
        return self.dialect.capacity(self.dialect.layout(log_size)).hard_limit

    def check_log(self, log_size: int, age: int | None = None) -> None:
        """Raise `InvalidInput` for a log that the server cannot have, or for more redo than the log can hold."""
        check_log_size(self.question.server, self.dialect, log_size)
        hard_limit = self.worst_age(log_size)
        if age is not None and not 0 < age <= hard_limit:
            raise InvalidInput(
                f"a checkpoint age of {format_size(age)} cannot be with a redo log of {format_size(log_size)}",
                f"statements wait at {format_size(hard_limit)}",
            )

    def crash_at(self, age: int) -> CrashSize:
        """Return a crash at that checkpoint age in bytes, with the dirty pages given or typical of the workload."""
        pages = self.question.dirty_pages
        # More than the pool holds is possible: recovery also reads pages that were written back since the checkpoint.
        return CrashSize(redo=age, dirty_pages=self.fitted.dirty_pages.at(age) if pages is None else float(pages))

    def work_at(self, age: int) -> Work:
        """Return the work of a recovery after a crash at that age."""
        return self.fitted.work(self.crash_at(age), self.question.pool)

    def one_batch(self, log_size: int) -> int:
        """Return the bytes of the buffer pool that certainly hold all redo of the worst crash at once."""
        return int(self.fitted.memory.surely_enough(self.crash_at(self.worst_age(log_size))))

    def may_take_batches(self, age: int) -> bool:
        """Return True if a recovery after a crash at that age may take more than one batch."""
        return self.fitted.memory.surely_enough(self.crash_at(age)) > self.question.pool
