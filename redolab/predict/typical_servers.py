"""Three typical servers on two volumes, and the sizes that the published rules set on each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.predict.advising import CrashTime, Sizing
from redolab.predict.asking import model_of
from redolab.predict.calibration import Calibration
from redolab.predict.compare import Compared, compared
from redolab.predict.demand import Demand
from redolab.predict.log_size import Limits
from redolab.predict.question import Question
from redolab.predict.rules import ServerFacts
from redolab.predict.trade import shipped_trades
from redolab.units import GIB, format_size

SERVER = "mysql-9"
LIMITS = Limits(rto=300.0)
STORAGES = ("gp3-3000", "gp3-16000")
WAVE = 0.8
"""Amplitude as a share of the mean: redo follows a daily sine, so that the peak is 1.8 times the mean."""
INFLATION = 3.33
"""Bytes of Innodb_os_log_written for each byte of LSN, of MySQL 9.7.4 with one client (docs/results/inflation.md)."""
_PMM_SHARE = 0.94


@dataclass(frozen=True, slots=True)
class Typical:
    """A server; bytes, and bytes an hour."""

    cpus: int
    memory: int
    peak: int

    @property
    def pool(self) -> int:
        """Three quarters of the memory, as innodb_dedicated_server and many DBAs set it."""
        return self.memory * 3 // 4

    @property
    def label(self) -> str:
        """Name, as in `4 CPUs, 16G`."""
        return f"{self.cpus} CPUs, {format_size(self.memory)}"

    def hours_below(self, share: float) -> float:
        """Return the bytes an hour that `share` of the hours of a day stay below."""
        return self.mean * (1 + WAVE * math.sin(math.pi * (share - 0.5)))

    @property
    def mean(self) -> float:
        """Mean of the day."""
        return self.peak / (1 + WAVE)


TYPICAL = (Typical(4, 16 * GIB, 3 * GIB), Typical(16, 128 * GIB, 12 * GIB), Typical(32, 256 * GIB, 40 * GIB))


@dataclass(frozen=True, slots=True)
class TypicalCase:
    """A server on a volume, and the sizes by each rule."""

    server: Typical
    storage: str
    found: Sequence[Compared]

    def of(self, rule: str) -> Compared:
        """Return the size by a rule."""
        return next(each for each in self.found if each.rule == rule)


def cases(calibration: Calibration, *, inflation: float = INFLATION) -> list[TypicalCase]:
    """Return each server on each volume; `inflation` is the bytes of Innodb_os_log_written for each byte of LSN."""
    return [_case(calibration, server, storage, inflation) for server in TYPICAL for storage in STORAGES]


def _case(calibration: Calibration, server: Typical, storage: str, inflation: float) -> TypicalCase:
    dialect = calibration.servers[SERVER].dialect
    question = Question(
        server=SERVER,
        storage=storage,
        pool=server.pool,
        read_threads=dialect.default_read_threads(server.cpus),
    )
    facts = ServerFacts(
        pool=server.pool,
        os_log_written=inflation * server.mean,
        os_log_written_hours=inflation * server.hours_below(_PMM_SHARE),
        cpus=server.cpus,
        memory=server.memory,
    )
    demand = Demand(redo_per_hour=float(server.peak), source="as given")
    model = model_of(question, calibration, storage)
    sizing = Sizing(model, demand, LIMITS, shipped_trades(), CrashTime.WORST)
    return TypicalCase(server, storage, compared(sizing, facts))
