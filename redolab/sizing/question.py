"""A question about recoveries of a server, and the learned model that answers it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redolab.models.recovery_time.held_out import HeldOut
from redolab.models.recovery_time.predict import Until
from redolab.models.recovery_time.terms import DiskRates
from redolab.servers.dialects import Dialect
from redolab.sizing.calibration import CalibratedServer, CalibratedWorkload, Calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """About which recoveries is asked; sizes in bytes."""

    server: str
    storage: str
    pool: int
    workload: str | None = None
    """Whose kind of redo it is, by the name of a workload that the calibration knows."""
    dirty_pages: int | None = None
    undo_rows: int | None = None
    tables: int | None = None
    read_threads: int | None = None
    """Its innodb_read_io_threads; None: the default on up to 8 CPUs."""
    until: Until = Until.READY
    """What ends the outage: with ROLLED_BACK predictions have the rollback of `undo_rows` in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Everything that answers a question but the size of the log."""

    question: Question
    calibration: Calibration
    dialect: Dialect
    server: CalibratedServer
    measured_as: str
    """Name of the calibrated server whose rates are taken."""
    disk: DiskRates
    storage: str
    workload: str
    learned: CalibratedWorkload
    extrapolations: tuple[HeldOut, ...]
    """Ways in which every prediction goes beyond what was measured."""
    warnings: tuple[str, ...]

    @property
    def read_threads(self) -> int:
        """Return innodb_read_io_threads as given, else the version's default on a host with few CPUs."""
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
