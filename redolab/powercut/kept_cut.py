"""A kept cut: a folder with the disk before it, all requests to the disk, the ledger, and the findings."""

from __future__ import annotations

from pathlib import Path

import msgspec

from redolab.disks.profiles import Cache
from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.machine.processes import Command, run
from redolab.powercut.explaining import Explanation
from redolab.powercut.ledger import Fault
from redolab.powercut.recorded import BASE, RECORDING, RecordedLoad
from redolab.servers.dialects import InstanceRequest
from redolab.workloads.ledger import NOTES, LedgerWorkload

KEPT_CUT_FORMAT = 1
_STORY = "cut.json"


class KeptCut(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a kept cut; stored beside its files."""

    format: int = KEPT_CUT_FORMAT
    what: str
    """Sentence that says what was found."""
    server: str
    version: str
    request: InstanceRequest
    """Request for the server under load; requests for its recoveries differ only in their purpose."""
    workload: LedgerWorkload
    file_system: str
    cache: Cache
    obeys: bool
    began: int
    ended: int
    killed: int
    time: int
    """Time of the cut in nanoseconds of CLOCK_MONOTONIC, as in the ledger."""
    fault: Fault
    """Fault that the explanation is about."""
    explanation: Explanation


def keep_cut(kept: KeptCut, recorded: RecordedLoad, folder: Path) -> None:
    """Keep a cut of a recorded load in a new folder. Raises `LabError` where there is no room for it."""
    size = files.folder_size(recorded.kept) + recorded.base.stat().st_blocks * 512
    if files.free_space(folder) < 2 * size:
        raise LabError(f"there is no room to keep a power cut in {folder}", "free some space: its seed makes it again")
    files.make_folder(folder)
    try:
        run(Command(["cp", "--sparse=always", str(recorded.base), str(folder / BASE)]))
        run(Command(["cp", "--recursive", str(recorded.kept), str(folder / RECORDING)]))
        run(Command(["cp", "--recursive", str(recorded.folder / NOTES), str(folder / NOTES)]))
        files.write_whole(folder / _STORY, msgspec.json.format(msgspec.json.encode(kept)))
    except BaseException:
        files.remove(folder)
        raise


def read_kept_cut(folder: Path) -> KeptCut:
    """Return the description of the cut kept in a folder. Raises `InvalidInput` if it cannot be read."""
    try:
        kept = msgspec.json.decode((folder / _STORY).read_bytes(), type=KeptCut)
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidInput(
            f"{folder} is no power cut that was kept ({error.strerror if isinstance(error, OSError) else error})",
            "name the folder of one; 'make experiment recovery IMAGE=NAME' recovers a crash image",
        ) from None
    if kept.format != KEPT_CUT_FORMAT:
        raise InvalidInput(
            f"{folder} was kept by another version of the lab", f"this one reads format {KEPT_CUT_FORMAT}"
        )
    return kept


def load_of(kept: KeptCut, folder: Path, room: Path) -> RecordedLoad:
    """Restore the recorded load of a kept cut, its disk in a folder where files share blocks. Raises `LabError`."""
    run(Command(["cp", "--sparse=always", str(folder / BASE), str(room / BASE)]))
    for name in (RECORDING, NOTES):
        run(Command(["cp", "--recursive", str(folder / name), str(room / name)]))
    return RecordedLoad.read(room, kept.workload.defines, kept.file_system, kept.began, kept.ended, kept.killed)
