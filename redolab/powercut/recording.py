"""Recording of all changes to a disk, and of the order of its flushes, by the disk model (`diskmodel/record.h`)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redolab.errors import LabError

EVENTS, DATA = "events", "data"
"""The files of a recording."""
_NEVER = np.iinfo(np.int64).max
_FORM = np.dtype(
    [("time", "i8"), ("number", "i8"), ("offset", "i8"), ("length", "i8"), ("data", "i8"), ("event", "i4"), ("failed", "i4")]
)  # fmt: skip


class DiskEvent(IntEnum):
    """Kind of an event at the disk: a request, or an answer."""

    WRITE = 0
    ZERO = 1
    TRIM = 2
    FLUSH = 3
    ANSWER = 4


@dataclass(frozen=True, slots=True)
class Recording:
    """Requests to a disk, one element each in the order of arrival; sizes in bytes.

    A place is the number of earlier events: a cut at place n leaves a state that the first n events allow.
    """

    event: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    data: NDArray[np.int64]
    """Offset of a write's bytes in the file of all bytes."""
    asked: NDArray[np.int64]
    """Place at which the request arrived."""
    answered: NDArray[np.int64]
    """Place at which the request was answered; the largest int64 if it never was."""
    times: NDArray[np.int64]
    """Times of all events, requests and answers, in nanoseconds of CLOCK_MONOTONIC, never decreasing."""
    failed: NDArray[np.bool_]

    @property
    def places(self) -> int:
        """Return the number of events."""
        return len(self.times)

    @property
    def flushes(self) -> NDArray[np.int64]:
        """Return the indices of the flushes."""
        return np.flatnonzero(self.event == DiskEvent.FLUSH)

    @property
    def changes(self) -> NDArray[np.int64]:
        """Return the indices of the requests that changed the disk: writes, zeroes and trims that did not fail."""
        return np.flatnonzero((self.event < DiskEvent.FLUSH) & ~self.failed)

    def place_at(self, time: int) -> int:
        """Return the number of events up to a time in nanoseconds of CLOCK_MONOTONIC."""
        return int(np.searchsorted(self.times, time, side="right"))


def read_recording(folder: Path) -> Recording:
    """Read the recording in a folder. Raises `LabError` if it is incomplete."""
    try:
        content = (folder / EVENTS).read_bytes()
        kept = (folder / DATA).stat().st_size
    except OSError as error:
        raise LabError(f"the recording {folder} cannot be read ({error.strerror})", "record it again") from None
    if len(content) % _FORM.itemsize:
        raise LabError(f"the recording {folder} ends within an event", "the disk model was killed: record it again")
    events = np.frombuffer(content, dtype=_FORM)
    is_answer = events["event"] == DiskEvent.ANSWER
    requests = events[~is_answer]
    answers = events[is_answer]
    places = np.arange(len(events), dtype=np.int64)
    answered = np.full(len(requests), _NEVER)
    failed = np.zeros(len(requests), dtype=bool)
    if not np.array_equal(requests["number"], np.arange(len(requests))) or answers["number"].max(initial=-1) >= len(
        requests
    ):
        raise LabError(f"the recording {folder} is damaged", "record it again")
    # The event itself has happened: a cut at the place after it finds it answered.
    answered[answers["number"]] = places[is_answer] + 1
    failed[answers["number"]] = answers["failed"] != 0
    written = requests["event"] == DiskEvent.WRITE
    if int((requests["data"][written] + requests["length"][written]).max(initial=0)) > kept:
        raise LabError(f"the recording {folder} lacks bytes that were written", "the disk was full: record it again")
    return Recording(
        event=requests["event"].copy(),
        offset=requests["offset"].copy(),
        length=requests["length"].copy(),
        data=requests["data"].copy(),
        asked=places[~is_answer],
        answered=answered,
        times=events["time"].copy(),
        failed=failed,
    )
