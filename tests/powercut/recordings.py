"""Recordings that are made of a list of requests, without a disk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redolab.powercut.recording import DiskEvent, Recording

_NEVER = np.iinfo(np.int64).max


def recording_of(requests: Sequence[tuple[DiskEvent, int, int, int]], order: Sequence[int]) -> Recording:
    """Make one from (event, offset, length, data) and an order of arrivals (n + 1) and answers (-n - 1)."""
    asked = np.zeros(len(requests), dtype=np.int64)
    answered = np.full(len(requests), _NEVER)
    for place, signed in enumerate(order):
        number = abs(signed) - 1
        if signed > 0:
            asked[number] = place
        else:
            answered[number] = place + 1
    columns = [np.array(column, dtype=np.int64) for column in zip(*requests, strict=True)]
    return Recording(
        event=columns[0].astype(np.int32), offset=columns[1], length=columns[2], data=columns[3], asked=asked,
        answered=answered, times=np.arange(len(order), dtype=np.int64), failed=np.zeros(len(requests), dtype=bool),
    )  # fmt: skip
