"""Cost of the disk model without limits, beside the bare loop device and nbdkit on the same file; its accuracy."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.instances import bench_lab
from redolab.disks.attaching import DISKS, measure_overhead
from redolab.disks.disk_model import built_disk_model
from redolab.disks.figures import FioLoad
from redolab.disks.fio import FILE_SIZE, Fio
from redolab.disks.lab_disk import LabDisk
from redolab.disks.loop import mounted
from redolab.disks.place import Place
from redolab.lab import Lab
from redolab.machine import files, mounts, processes
from redolab.machine.facts import RequestQueue
from redolab.machine.processes import Command
from redolab.units import GIB

ROUNDS = 3
LOADS = {
    "random reads, 1 at a time": ["--rw=randread", "--bs=16k", "--iodepth=1"],
    "random reads, 16 at a time": ["--rw=randread", "--bs=16k", "--iodepth=16"],
    "sequential reads": ["--rw=read", "--bs=1M", "--iodepth=4"],
}
LATENCIES_US = (300, 500, 1000, 3000, 10_000)
IOPS = (500, 3000, 10_000)
MB_S = (50, 131, 500)


def main() -> None:
    """Measure and print."""
    with bench_lab() as lab:
        lab.tools.require(["fio", "mkfs.xfs"], lab.progress)
        fio, program = Fio(lab.tools.get("fio")), built_disk_model(lab)
        with LabDisk.made(lab.journal, lab.folder / DISKS / "benchmark", 4 * GIB) as disk:
            with disk.natively() as folder:
                fio.write_files(Place(name="local", folder=folder))
            _compare(lab, fio, program, disk)
            _accuracy(fio, program, disk)


def _compare(lab: Lab, fio: Fio, program: Path, disk: LabDisk) -> None:
    found: dict[str, dict[str, list[FioLoad]]] = {}
    for _ in range(ROUNDS):
        with disk.natively() as folder:
            _measure(fio, Place(name="loop device", folder=folder), found)
        with disk.modelled("disk model", program, ["kind=unlimited"], RequestQueue(), 0) as place:
            _measure(fio, place, found)
        if processes.which("nbdkit") and processes.which("nbdfuse"):
            with _nbdkit(lab, disk) as folder:
                _measure(fio, Place(name="nbdkit", folder=folder), found)
    print(f"medians of {ROUNDS} rounds, 16 KiB random reads and 1 MiB sequential reads, {FILE_SIZE / GIB:.0f} GiB file")
    for name, loads in found.items():
        one, many, row = (loads[load] for load in LOADS)
        print(
            f"{name:<12} {statistics.median(load.latency_us for load in one):7.1f} us alone   "
            f"{statistics.median(load.per_second for load in many):9,.0f}/s at depth 16   "
            f"{statistics.median(load.mb_s for load in row):7,.0f} MB/s sequential"
        )


def _measure(fio: Fio, place: Place, found: dict[str, dict[str, list[FioLoad]]]) -> None:
    for name, arguments in LOADS.items():
        load = fio.load(place, "random", [f"--size={FILE_SIZE}", *arguments])
        found.setdefault(place.name, {}).setdefault(name, []).append(load)


@contextmanager
def _nbdkit(lab: Lab, disk: LabDisk) -> Iterator[Path]:
    """Serve the same file through nbdkit's delay and rate filters, mounted by nbdfuse."""
    served, folder = disk.file.parent / "nbd", disk.file.parent / "nbd-mounted"
    files.make_folder(served)
    command = [
        "nbdfuse",
        str(served),
        "--command",
        "nbdkit",
        "-s",
        "--exit-with-parent",
        "--filter=delay",
        "--filter=rate",
    ]
    process = processes.start(
        Command([*command, "file", str(disk.file), "rdelay=0", "rate=100G"]), served.with_suffix(".log")
    )
    try:
        while not (served / "nbd").exists():
            if process.wait(0.05) is not None:
                raise RuntimeError(served.with_suffix(".log").read_text())
        with mounted(served / "nbd", folder):
            yield folder
    finally:
        mounts.unmount(served)
        process.stop()


def _accuracy(fio: Fio, program: Path, disk: LabDisk) -> None:
    """Measure each figure once a round; measure the disk model's own share anew in each round, as every run does."""
    asked = [
        *(
            ("latency", each, "us", [f"read={each * 1000}"], LOADS["random reads, 1 at a time"])
            for each in LATENCIES_US
        ),
        *(("operations", each, "/s", [f"read_iops={each}"], LOADS["random reads, 16 at a time"]) for each in IOPS),
        *(("rate", each, "MB/s", [f"read_rate={each * 10**6}"], LOADS["sequential reads"]) for each in MB_S),
    ]
    got: list[list[float]] = [[] for _ in asked]
    overheads = []
    for _ in range(ROUNDS):
        overheads.append(measure_overhead(fio, disk, program))
        for found, (what, _, _, parameters, arguments) in zip(got, asked, strict=True):
            load = _limited(fio, program, disk, overheads[-1], parameters, arguments)
            found.append({"latency": load.latency_us, "operations": load.per_second, "rate": load.mb_s}[what])
    print(f"the disk model's own share, taken off: {min(overheads) / 1000:.0f} to {max(overheads) / 1000:.0f} us")
    for found, (what, each, unit, _, _) in zip(got, asked, strict=True):
        off = ", ".join(f"{value / each - 1:+.1%}" for value in found)
        print(f"{what:<11} asked {each:>7,} {unit:<5} got {statistics.median(found):>10,.1f} {unit:<5} off by {off}")


def _limited(
    fio: Fio, program: Path, disk: LabDisk, overhead: int, parameters: Sequence[str], arguments: Sequence[str]
) -> FioLoad:
    flash = ["kind=flash", "read=100000", "write=0", "flush=0", "depth=64", *parameters]
    with disk.modelled("limited", program, flash, RequestQueue(), overhead) as place:
        return fio.load(place, "random", [f"--size={FILE_SIZE}", *arguments])


if __name__ == "__main__":
    main()
