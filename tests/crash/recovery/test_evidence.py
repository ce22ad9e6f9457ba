"""Files that a recovery leaves for whoever looks into it."""

from __future__ import annotations

from pathlib import Path

from redolab.crash.recovery.evidence import cap_log
from redolab.errorlog.files import arrivals_of, read_stamped_log


def test_each_line_of_a_shortened_log_keeps_its_arrival(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    repeated = "InnoDB: waiting for a page" + " " * 100
    lines = ["a file of \N{LINE SEPARATOR}, \N{NEXT LINE}, \f and \r", *[repeated] * 10_000, "ready"]
    log.write_bytes("".join(f"{line}\n" for line in lines).encode())
    arrivals_of(log).write_text("".join(f"{number}.5\n" for number in range(len(lines))))
    cap_log(log)
    arrivals = {line.text: line.arrival for line in read_stamped_log(log)}
    assert (arrivals[lines[0]], arrivals["ready"]) == (0.5, 10_001.5)
    assert log.stat().st_size < 100_000
