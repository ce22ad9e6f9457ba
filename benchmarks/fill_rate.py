"""Redo rate of the workloads: bytes of LSN a second, with the same server, number of clients and run.

.venv/bin/python -m benchmarks.fill_rate
"""

from __future__ import annotations

import statistics
import time

from benchmarks.instances import SERVER, THREADS, bench_lab, under_load
from redolab.lab import Lab
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.units import GIB, MIB

_ROUNDS = 3
_WARM_UP = 2.0
_SECONDS = 10.0
_REQUEST = InstanceRequest(purpose=Purpose.FILL, log_size=4 * GIB, buffer_pool=2 * GIB)


def main() -> None:
    """Measure each workload in turn, several times, and print the medians and their ratio."""
    rates: dict[str, list[float]] = {"bulk-update": [], "oltp_write_only": []}
    with bench_lab() as lab:
        for _ in range(_ROUNDS):
            for workload, found in rates.items():
                found.append(_rate(lab, workload))
    print(
        f"{SERVER}, {THREADS} clients, trx_commit=1, {_SECONDS:.0f} s after {_WARM_UP:.0f} s of warm-up, {_ROUNDS} rounds"
    )
    for workload, found in rates.items():
        low, middle, high = (value / MIB for value in (min(found), statistics.median(found), max(found)))
        print(f"{workload:<16} {middle:7.1f} MiB/s of LSN (min {low:.1f}, max {high:.1f})")
    bulk, oltp = (statistics.median(found) for found in rates.values())
    print(f"ratio            {bulk / oltp:7.1f}")


def _rate(lab: Lab, workload: str) -> float:
    with under_load(lab, workload, GIB, _REQUEST) as loaded, loaded.instance.connections.connect() as connection:
        time.sleep(_WARM_UP)
        first = loaded.instance.sample(connection)
        time.sleep(_SECONDS)
        last = loaded.instance.sample(connection)
        loaded.workload.check_running()
    assert first.lsn is not None
    assert last.lsn is not None
    return (last.lsn - first.lsn) / (last.monotonic - first.monotonic)


if __name__ == "__main__":
    main()
