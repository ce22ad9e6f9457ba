"""What can be chosen of removals of binary logs."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.bench.factors import StorageFactors
from redolab.errors import InvalidInput
from redolab.runs.factors import factor, on_or_off, one_of, several, whole_number
from redolab.servers.catalogue import server_names
from redolab.storage.catalogue import storage_name
from redolab.storage.file_systems import AS_IS, MADE_BY
from redolab.storage.profiles import FolderStorage, TmpfsStorage
from redolab.units import GIB, KIB, format_size, parse_duration, parse_size

from .trial import Removal

_SMALLEST_FILE, _LARGEST_FILE = 512 * KIB, GIB
"""The largest that max_binlog_size can be, and the least in which a statement with which files are filled is a small part."""
_SHORTEST = 1.0


@dataclass(frozen=True, kw_only=True)
class Factors(StorageFactors):
    """What can be chosen; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor(
        "Servers, with commas; all for every one.",
        server_names,
        "mysql-5.5,mysql-5.7,mysql-9,mariadb-10.2,mariadb-11.8",
    )
    file_system: tuple[str, ...] = factor(
        "File systems under the data directory, with commas: xfs, ext4, ext3, each on a disk in a file of its own (which "
        f"takes root); {AS_IS}: the one that the folder of STORAGE= lies on already.",
        several(one_of("file system", lambda: [*MADE_BY, AS_IS])),
        "xfs,ext4",
    )
    storage: tuple[str, ...] = factor(
        "Storage profiles, or folders as in /mnt/fast, with commas.", several(storage_name), "native,cloud-ssd"
    )
    file_size: tuple[int, ...] = factor("Sizes of one binary log file, with commas.", several(parse_size), "1G,50M")
    purged: int = factor("Size of all files that are removed at once: the same, whatever theirs is.", parse_size, "2G")
    removal: tuple[Removal, ...] = factor(
        "How they are removed, with commas: purge, by PURGE BINARY LOGS on a connection of its own; rotation, as expired "
        "by the commit that rotates the binary log.",
        several(lambda text: Removal(one_of("removal", lambda: [str(each) for each in Removal])(text))),
        "purge,rotation",
    )
    rate: int = factor("Transactions a second of all clients together.", whole_number(1, 100_000), "100")
    clients: int = factor("Clients that write.", whole_number(1, 256), "16")
    seconds: float = factor(
        "How long the clients write before the removal, and from its beginning.", parse_duration, "5s"
    )
    cached: bool = factor("Whether the files are in the page cache when they are removed.", on_or_off, "off")
    repeat: int = factor("How often each cell is measured.", whole_number(1, 1000), "10")

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        for size in self.file_size:
            if not _SMALLEST_FILE <= size <= _LARGEST_FILE:
                raise InvalidInput(
                    f"a binary log file of {format_size(size)} cannot be had",
                    f"choose {format_size(_SMALLEST_FILE)} to {format_size(_LARGEST_FILE)}",
                )
            if size > self.purged:
                raise InvalidInput(
                    f"a file of {format_size(size)} is more than the {format_size(self.purged)} that are removed",
                    "choose a smaller FILESIZE or a larger PURGED",
                )
        if self.seconds < _SHORTEST:
            raise InvalidInput(f"{self.seconds:g} s of writing are too short", f"choose {_SHORTEST:g}s or more")
        for name, profile in self.profiles().items():
            if isinstance(profile, TmpfsStorage):
                raise InvalidInput(
                    f"the storage {name} is memory, on which removing a file takes no time", "choose another"
                )
            if AS_IS in self.file_system and not isinstance(profile, FolderStorage):
                raise InvalidInput(
                    f"the storage {name} is a disk of the lab's, with no file system of its own yet",
                    "choose FILESYSTEM=xfs,ext4 for it",
                )
