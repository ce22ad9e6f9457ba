"""The machines that the lab was on."""

from __future__ import annotations

from pathlib import Path

import msgspec

from redolab.machine import files
from redolab.remote.address import MachineAddress, parse_machine


class KnownMachines:
    """The list of them, a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> list[MachineAddress]:
        """Each, the one that was used last at the end."""
        try:
            names = msgspec.json.decode(self._path.read_bytes(), type=list[str])
        except (OSError, msgspec.DecodeError):
            return []
        return [address for name in names if (address := parse_machine(name)) is not None]

    def add(self, address: MachineAddress) -> None:
        """Note that the lab goes there now."""
        self._write([*(each for each in self.all() if each != address), address])

    def forget(self, address: MachineAddress) -> None:
        """Note that nothing is left there."""
        self._write([each for each in self.all() if each != address])

    def _write(self, addresses: list[MachineAddress]) -> None:
        files.write_whole(self._path, msgspec.json.encode([str(each) for each in addresses]))
