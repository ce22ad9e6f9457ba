"""Any number of mutated logs through the reader, beyond the 2,000 that the tests read.

.venv/bin/python -m tests.timeline.fuzz 1000000 [FIRST_SEED]
"""

from __future__ import annotations

import sys
import time

from tests.timeline.mutating import mutated, read_through, whole_logs

_SAY_EVERY = 10_000


def main() -> None:
    """Read them; the first that is not read as it must be ends it, with its seed."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    logs, found, size = whole_logs(), 0, 0
    slowest, of_seed, begun = 0.0, first, time.monotonic()
    for seed in range(first, first + count):
        log = mutated(seed, logs)
        start = time.monotonic()
        try:
            found += len(read_through(log))
        except BaseException:
            print(f"seed {seed}")
            raise
        if (took := time.monotonic() - start) > slowest:
            slowest, of_seed = took, seed
        size += len(log)
        if (seed - first + 1) % _SAY_EVERY == 0:
            print(f"{seed - first + 1:,} logs, {size / 1e9:.2f} GB, {found:,} starts", flush=True)
    print(f"{count:,} logs, {size / 1e9:.2f} GB, {found:,} starts in {time.monotonic() - begun:.0f} s")
    print(f"slowest: {slowest * 1000:.0f} ms (seed {of_seed})")


if __name__ == "__main__":
    main()
