"""Use of a machine while a server is under load: its CPUs, and the device under the data."""

from __future__ import annotations

from dataclasses import asdict

import psutil

from redolab.clock import now
from redolab.machine.device import BlockDevice
from redolab.machine.facts import MachineSample


def machine_sample(device: BlockDevice) -> MachineSample:
    """Return the present counts."""
    at, counters, times = now(), device.counters(), psutil.cpu_times()
    idle = times.idle + times.iowait
    # Time of guests is in the users' already (Documentation/filesystems/proc.rst).
    everything = idle + times.user + times.nice + times.system + times.irq + times.softirq + times.steal
    return MachineSample(monotonic=at.monotonic, cpu_busy=everything - idle, cpu_all=everything, **asdict(counters))
