"""What can be chosen of rotations."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from redolab.bench.factors import StorageFactors
from redolab.errors import InvalidInput
from redolab.runs.factors import factor, on_or_off, one_of, several, whole_number
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.storage.catalogue import storage_name
from redolab.storage.file_systems import AS_IS, MADE_BY
from redolab.storage.profiles import HOME, FolderStorage, ModelledDisk
from redolab.units import GIB, MIB, format_size, parse_size

from .methods import Method
from .trial import RotationCell

_SMALLEST, _LARGEST = 1 * MIB, 64 * GIB
_MEGABYTE = 1_000_000
_HELD_FOR = 4
"""Seconds for which logging is held beside the rotation."""
_AROUND = 2
"""Seconds of a stretch before and after a rotation."""
_SHORTEST_HELD = _HELD_FOR + _AROUND + 2
_SPARE = 1.2


def _method(text: str) -> Method:
    return Method(one_of("method", lambda: list(Method))(text))


@dataclass(frozen=True, kw_only=True)
class Factors(StorageFactors):
    """What can be chosen; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "mysql-9,mariadb-11.8")
    method: tuple[Method, ...] = factor(
        "How it is rotated, with commas: " + "; ".join(f"{each}: {each.about}" for each in Method) + ".",
        several(_method),
        "copytruncate,rename-flush,rename-hup,rm-flush",
    )
    held: tuple[bool, ...] = factor(
        "Whether logging is held meanwhile, and for 2 s before and after, by long_query_time=2000 and log_output=NONE: off, on, or both "
        "with a comma.",
        several(on_or_off),
        "off,on",
    )
    file_system: tuple[str, ...] = factor(
        f"File systems that the log lies on, with commas: {', '.join(MADE_BY)}; {AS_IS}: that of the lab's folder, which takes no root.",
        several(one_of("file system", lambda: [*MADE_BY, AS_IS])),
        "xfs,ext4",
    )
    storage: tuple[str, ...] = factor(
        f"Disks that it lies on, with commas: modelled ones, or {HOME}.", several(storage_name), "cloud-ssd"
    )
    log_file: tuple[int, ...] = factor("Sizes of the log that is rotated, with commas.", several(parse_size), "1G")
    clients: int = factor("Clients that send point selects.", whole_number(1, 1024), "8")
    rate: int = factor("Point selects a second, of all clients together.", whole_number(1, 1_000_000), "3000")
    seconds: int = factor(
        "Seconds of the stretch without a rotation, and of the one with it.", whole_number(3, 600), "20"
    )
    warm_up: int = factor("Seconds of the load before them.", whole_number(1, 600), "10")
    tables: int = factor("Tables that are open and that no client reads.", whole_number(10, 10_000), "200")
    check_disks: bool = factor("Have fio look at every storage before, once.", on_or_off, "on")
    repeat: int = factor("Rotations of each cell; fewer than 6 give no interval.", whole_number(1, 1000), "6")

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        for size in self.log_file:
            if not _SMALLEST <= size <= _LARGEST:
                raise InvalidInput(
                    f"a log of {format_size(size)} is not rotated",
                    f"LOGFILE={format_size(_SMALLEST)} to {format_size(_LARGEST)}",
                )
        if True in self.held and self.seconds < _SHORTEST_HELD:
            raise InvalidInput(
                f"logging is held for longer than fits into stretches of {self.seconds} s",
                f"SECONDS={_SHORTEST_HELD} or more, or HELD=off",
            )
        cells = self.cells()
        for method in self.method:
            if not any(cell.method is method for cell in cells):
                raise InvalidInput(f"no server of {', '.join(self.server)} can be rotated by {method}", method.about)
        for name, profile in self.profiles().items():
            if isinstance(profile, ModelledDisk) and Method.COPYTRUNCATE in self.method:
                self._check_copied(name, profile)
            if not isinstance(profile, ModelledDisk) and name != HOME:
                raise InvalidInput(
                    f"the lab makes no file systems on {name}", f"STORAGE={HOME}, or a modelled disk as cloud-ssd"
                )
            if AS_IS in self.file_system and not isinstance(profile, FolderStorage):
                raise InvalidInput(
                    f"{name} is a disk of the lab's, which has no file system yet",
                    f"FILESYSTEM={AS_IS} takes STORAGE={HOME}; or FILESYSTEM={','.join(MADE_BY)}",
                )

    def _check_copied(self, name: str, profile: ModelledDisk) -> None:
        """Raises `InvalidInput` if the largest log cannot be copied to a disk in a stretch."""
        mb_s = profile.target().sequential_mb_s
        if mb_s is None:
            return
        largest = max(self.log_file)
        takes = largest / (mb_s * _MEGABYTE) + _HELD_FOR * (True in self.held) + _AROUND
        if self.seconds < takes:
            raise InvalidInput(
                f"a copy of {format_size(largest)} takes {name} {largest / (mb_s * _MEGABYTE):.0f} s or more, which does not fit into "
                f"stretches of {self.seconds} s",
                f"SECONDS={math.ceil(_SPARE * takes)}, or a smaller LOGFILE",
            )

    def cells(self) -> list[RotationCell]:
        """Return every combination of factors, without methods that a server does not have."""
        return [
            RotationCell(
                server=server, storage=storage, file_system=file_system, method=method, held=held, log_file=log_file
            )
            for server, storage, file_system, log_file, method, held in itertools.product(
                self.server, self.storage, self.file_system, self.log_file, self.method, self.held
            )
            if method.exists_on(server_catalogue().get(server).dialect())
        ]
