"""How long `redolab timeline` takes for a megabyte without the end of a line, of what its patterns have to look through longest.

.venv/bin/python -m benchmarks.long_lines
"""

from __future__ import annotations

import io
import time

from redolab.timeline import starts
from redolab.timeline.logs import read_log

_SIZE = 1_000_000
_RUNS = 3
_FILLED_WITH = (
    " ", "> ", ">", "9", "0:", "0 ", "12:00:00 ", "[", "[Note] ", "InnoDB: ", "InnoDB: \t", "mysqld: ", "mysqld ", "a|", "(",
    "2026-11-21  4:38:27 ", "160530 18:19:09 ", "Nov 21 04:38:27 db mysqld[71]: ", "{", '{"msg":"', "\\", "'", "Version: '",
    " as process ", "recovery", "recovery\t", "log sequence number 1 ", "InnoDB: 1 transaction(s) ", "InnoDB: Progress in percents: 1 ",
)  # fmt: skip
_HEADS = ("", "InnoDB: Starting crash recovery", "2026-11-21  4:38:27 0 [Note] InnoDB: ", "InnoDB: 5.7.22 ")


def main() -> None:
    """Measure and print."""
    measured = sorted(((_seconds(head, text), head, text) for head in _HEADS for text in _FILLED_WITH), reverse=True)
    for seconds, head, text in measured[:5]:
        print(f"{seconds * 1000:6.0f} ms  {(head + text)!r} and so on")
    print(f"{len(measured)} lines of {_SIZE / 1e6:.0f} MB each, the best of {_RUNS}; above the five slowest")


def _seconds(head: str, text: str) -> float:
    line = (head + text * (_SIZE // len(text))).encode()
    took = []
    for _ in range(_RUNS):
        begun = time.perf_counter()
        for _start in starts(read_log(io.BytesIO(line))):
            pass
        took.append(time.perf_counter() - begun)
    return min(took)


if __name__ == "__main__":
    main()
