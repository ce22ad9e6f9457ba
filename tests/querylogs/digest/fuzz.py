"""Any number of logs of odd statements through the reader and through pt-query-digest; whole, and in pieces.

.venv/bin/python -m tests.querylogs.digest.fuzz COUNT [FIRST_SEED]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from redolab.querylogs.digest import Digest, digest
from tests.querylogs.digest import making
from tests.querylogs.digest.comparing import differences
from tests.querylogs.digest.theirs import theirs

_SAY_EVERY = 100


def without_files(found: Digest) -> Digest:
    """What must be the same however the log was cut."""
    return msgspec.structs.replace(found, files=())


def main() -> None:
    """Read them; the first that is not read as it must be ends it, with its seed."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    queries, begun = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        for seed in range(first, first + count):
            content = making.log(seed)
            whole = Path(name) / "whole.log"
            whole.write_bytes(content)
            ours = digest([whole])
            found = list(differences(ours, theirs(whole)))
            if found:
                raise SystemExit("\n".join([f"seed {seed}", *found]))
            files = making.pieces(content, Path(name), seed)
            in_chunks = digest([whole], chunk=random.Random(seed).randrange(1, len(content)))
            if not without_files(ours) == without_files(digest(files)) == without_files(in_chunks):
                raise SystemExit(f"seed {seed}: not the same in pieces")
            for file in files:
                file.unlink()
            queries += ours.count
            if (seed - first + 1) % _SAY_EVERY == 0:
                print(f"{seed - first + 1:,} logs, {queries:,} queries", flush=True)
    print(f"{count:,} logs, {queries:,} queries in {time.monotonic() - begun:.0f} s, all the same")


if __name__ == "__main__":
    main()
