"""The logs of the tests, and the digests beside them: NAME.json, a line for each class.

.venv/bin/python -m tests.slowlog.digest.golden

writes them anew: read the difference before committing it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from redolab.slowlog.digest.classes import Digest
from redolab.slowlog.digest.digesting import digest

SLOW = Path(__file__).parents[2] / "logs" / "slow"
REAL = sorted(SLOW.glob("*.log"))
"""Written by the servers of the catalogue."""
FORMS = sorted((SLOW / "forms").glob("*.log"))
"""Put together by hand: from documentation and sources of servers that were not run, and what logs can suffer."""


def as_lines(found: Digest) -> str:
    """Return a digest as lines, without the path of the log."""
    classes = "".join(f"{msgspec.json.encode(each).decode()}\n" for each in found.classes)
    rest = msgspec.structs.replace(found, classes=(), files=())
    return f"{classes}{msgspec.json.encode(rest).decode()}\n"


def main() -> None:
    """Write all digests."""
    for log in (*REAL, *FORMS):
        log.with_suffix(".json").write_text(as_lines(digest([log])), encoding="utf-8")


if __name__ == "__main__":
    main()
