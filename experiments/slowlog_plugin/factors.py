"""What can be chosen of the slow log plugin's experiment."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.errors import InvalidInput
from redolab.machine import processes
from redolab.querylogs.plugin import why_no_slow_log_plugin
from redolab.runs.factors import CommonFactors, factor, on_or_off, several, whole_number
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.units import parse_size

from .arms import Arm, Place, arms, places

_LARGEST_BUFFER = 16 << 20


@dataclass(frozen=True, kw_only=True)
class Factors(CommonFactors):
    """What can be chosen; sizes in bytes, times in seconds."""

    repeat: int = factor("How many blocks: in each every cell is measured once.", whole_number(1, 1000), "5")
    server: tuple[str, ...] = factor("MariaDB servers, with commas.", server_names, "mariadb-10.11,mariadb-11.8")
    arm: tuple[Arm, ...] = factor(
        "Ways of logging, with commas: built-in, plugin, buffered, table, schema, digests; all for every one.",
        arms,
        "all",
    )
    connections: tuple[int, ...] = factor(
        "Numbers of clients, with commas.", several(whole_number(1, 4096)), "1,16,256"
    )
    log: tuple[Place, ...] = factor("Where the log's file lies: tmpfs, disk, or both.", places, "tmpfs,disk")
    buffer: int = factor("Bytes that a connection gathers in the arm 'buffered'.", parse_size, "64K")
    seconds: int = factor("For how many seconds each is measured.", whole_number(1, 3600), "10")
    kill: bool = factor("Also kill servers, to count the lines that a buffer loses.", on_or_off, "on")

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        for name in self.server:
            if (why := why_no_slow_log_plugin(server_catalogue().get(name).dialect())) is not None:
                raise InvalidInput(f"{name} cannot load the plugin, {why}", "name mariadb-10.11 or mariadb-11.8")
        if not 1 <= self.buffer <= _LARGEST_BUFFER:
            raise InvalidInput("a buffer has 1 byte to 16M", "choose another BUFFER")
        if Place.TMPFS in self.log and not processes.is_root():
            raise InvalidInput("only root can mount a tmpfs", "LOG=disk, or run as root")
