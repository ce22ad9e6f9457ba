"""What can be chosen of the logging experiment."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.errors import InvalidInput
from redolab.runs.factors import CommonFactors, factor, one_of, several, whole_number
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.units import MIB, format_duration, format_size, parse_duration, parse_size
from redolab.workloads.catalogue import workload_catalogue

from .logs import LOGS, NONE
from .trial import LoggingCell

TPCC = "tpcc"
_SHORTEST = 5.0
_ALL = "all-logs"


@dataclass(frozen=True, kw_only=True)
class Factors(CommonFactors):
    """What can be chosen; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas.", server_names, "mysql-9,mariadb-11.8")
    logs: tuple[str, ...] = factor(
        f"Logs to compare, with commas; none is always among them, {_ALL} are all that a server has.",
        several(one_of("log", lambda: [_ALL, *LOGS])),
        _ALL,
    )
    connections: tuple[int, ...] = factor("Numbers of clients, with commas.", several(whole_number(1, 1024)), "20")
    warehouses: int = factor("Warehouses of TPC-C, about 100M each.", whole_number(1, 1000), "10")
    pool: tuple[int, ...] | None = factor(
        "Buffer pools, with commas (default: one that holds the tables).", several(parse_size)
    )
    log_size: int = factor("Redo log.", parse_size, "2G")
    seconds: float = factor("How long each stretch is measured.", parse_duration, "30s")
    settling: float = factor("How long the clients run before it, log on.", parse_duration, "4s")
    warm_up: float = factor("How long they run after a start, without a log, to fill the pool.", parse_duration, "20s")
    repeat: int = factor("Blocks: in each every log once, in an order drawn at random.", whole_number(1, 100), "9")

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        if self.seconds < _SHORTEST:
            raise InvalidInput(
                f"a stretch of {format_duration(self.seconds)} says nothing", f"choose {_SHORTEST:g}s or more"
            )
        for name in self.server:
            if self.log_size > server_catalogue().get(name).dialect().largest_log:
                raise InvalidInput(
                    f"a redo log of {format_size(self.log_size)} is too large for {name}", "choose a smaller one"
                )
            missing = [each for each in self.logs if each != _ALL and self.why_not(name, each) is not None]
            if missing and len(missing) == len(self.compared()) - 1:
                raise InvalidInput(f"{name} has none of these logs ({', '.join(missing)})", "see docs/query-logs.md")

    @property
    def tables(self) -> int:
        """Bytes of the tables."""
        return self.warehouses * (workload_catalogue().get(TPCC).bytes_per_warehouse or 0)

    def compared(self) -> list[str]:
        """The logs that are asked for, none the first."""
        asked = list(LOGS) if _ALL in self.logs else list(self.logs)
        return list(dict.fromkeys([NONE, *asked]))

    @staticmethod
    def why_not(server: str, log: str) -> str | None:
        """Why a server of the catalogue does not have a log; None if it has."""
        return LOGS[log].why_not(server_catalogue().get(server).dialect())

    def cells(self) -> list[LoggingCell]:
        """Servers, clients and pools, all with all."""
        # What TPC-C adds to its tables while it runs has room too.
        pools = self.pool or (self.tables * 3 // 2 + 256 * MIB,)
        return [
            LoggingCell(server=server, connections=connections, pool=pool)
            for server in self.server
            for pool in pools
            for connections in self.connections
        ]
