"""What is measured: a stretch of the shortest statements under one way of logging."""

from __future__ import annotations

import msgspec

from .arms import Arm, Place


class PluginTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch; times in seconds unless they are named otherwise."""

    server: str
    version: str
    arm: Arm
    place: Place
    connections: int
    block: int
    seconds: float
    statements: int
    """That the clients have got answers for."""
    executed: int
    """That the server says it has executed; of one that was killed what was answered."""
    p95_ms: float | None
    p99_ms: float | None
    server_cpu: float | None
    """Processor seconds of the server; None where it was killed."""
    lines: int | None
    """Statements that are in the log, whole; None where there is none."""
    cut_off: int
    """Records of the log that are not whole."""
    log_bytes: int | None
    """Of the log's file; None where there is none."""
    dropped: int | None
    """As the plugin says it; None for other arms."""
    buffer: int
    """Bytes that a connection gathers."""
    killed: bool = False
    instance: str = ""
    """The hash under which the run keeps the server's settings and variables."""

    @property
    def per_second(self) -> float:
        """Statements a second."""
        return self.statements / self.seconds

    @property
    def cpu_us(self) -> float | None:
        """Processor time of the server for a statement, in microseconds."""
        return None if self.server_cpu is None else 1e6 * self.server_cpu / max(1, self.executed)

    @property
    def lost(self) -> int | None:
        """Statements that are not in the log."""
        return None if self.lines is None else self.executed - self.lines
