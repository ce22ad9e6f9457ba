"""Measurement of a disk with fio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from redolab.disks.figures import FioLoad, MeasuredDisk
from redolab.disks.place import Place
from redolab.errors import CommandFailed, LabError
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.machine.tools import Tool
from redolab.progress import Stage
from redolab.units import MIB

FILE_SIZE = 1024 * MIB
_APPENDED = 64 * MIB
FILES_SIZE = FILE_SIZE + _APPENDED
"""Bytes of disk that measuring takes."""
_SECONDS = 2
_READ = ("--rw=randread", "--bs=16k")
_IN_ORDER = ("--rw=rw:32k", "--rwmixread=50", "--bs=32k", "--iodepth=32")
"""Page access of a recovery: neighbours in one request, mostly in file order, read and written back."""


class _Latency(msgspec.Struct):
    mean: float = 0.0
    percentile: Mapping[str, float] = {}


class _Direction(msgspec.Struct):
    iops: float
    bw_bytes: float
    total_ios: int
    lat_ns: _Latency
    clat_ns: _Latency


class _Job(msgspec.Struct):
    read: _Direction
    write: _Direction


class _Output(msgspec.Struct):
    jobs: Sequence[_Job]


@dataclass(frozen=True, slots=True)
class Fio:
    """fio as this machine has it."""

    tool: Tool

    def write_files(self, place: Place, size: int = FILE_SIZE) -> None:
        """Write the files of all loads: a file system answers reads of unwritten blocks without the disk."""
        for name, length in (("random", size), ("append", _APPENDED)):
            self._run(place, name, [f"--size={length}", "--rw=write", "--bs=1M", "--iodepth=8", "--end_fsync=1"])

    def measure(self, place: Place, stage: Stage, *, whole_device: bool = False, size: int = FILE_SIZE) -> MeasuredDisk:
        """Run all loads, one after the other, on files that are written.

        With `whole_device` reads go all over the device itself, for disks on which the distance matters.
        """

        def random_reads(depth: int) -> FioLoad:
            stage.say(f"random reads, {depth} at a time")
            page = [*_READ, f"--iodepth={depth}"]
            if whole_device and place.device is not None:
                return self.load(place, f"/dev/{place.device.name}", ["--readonly", *page])
            return self.load(place, "random", [f"--size={size}", *page])

        one, queued = random_reads(1), random_reads(32)
        stage.say("random writes")
        write = self.load(place, "random", [f"--size={size}", "--rw=randwrite", "--bs=16k", "--iodepth=1"])
        stage.say("sequential reads")
        sequential = self.load(place, "random", [f"--size={size}", "--rw=read", "--bs=1M", "--iodepth=4"])
        stage.say("synced appends")
        append = self.load(
            place, "append", [f"--size={_APPENDED}", "--rw=write", "--bs=512", "--iodepth=1", "--fdatasync=1"]
        )
        stage.say("reads and writes in order")
        in_order = self.load(place, "random", [f"--size={size}", *_IN_ORDER])
        # Appends follow one another, each with its sync: the time from one to the next is the latency of both.
        both_us = 1e6 / append.per_second
        synced = msgspec.structs.replace(append, latency_us=both_us)
        return MeasuredDisk(
            read=one, queued_read=queued, write=write, sequential=sequential, append=synced, in_order=in_order
        )

    def read(self, place: Place) -> FioLoad:
        """Measure random reads of 16 KiB, one at a time."""
        return self.load(place, "random", [f"--size={FILE_SIZE}", *_READ, "--iodepth=1"])

    def load(self, place: Place, file: str, arguments: Sequence[str]) -> FioLoad:
        """Run one load on a file of `write_files`, or on a device, while the place is limited. Return its result."""
        with place.limited():
            return _load_of(self._run(place, file, [*arguments, "--time_based", f"--runtime={_SECONDS}"]))

    def _run(self, place: Place, file: str, arguments: Sequence[str]) -> _Job:
        # An absolute `file` replaces the folder. To fio a colon ends a file's name.
        filename = str(place.folder / file).replace(":", r"\:")
        command = [
            str(self.tool.program),
            "--name=redolab",
            f"--filename={filename}",
            "--ioengine=libaio",
            f"--direct={int(place.direct)}",
            "--output-format=json",
            *arguments,
        ]
        with place.blamed():
            try:
                output = processes.run(Command(command, environment=self.tool.environment)).out
            except CommandFailed as error:
                raise LabError(
                    f"fio could not measure {place.name} in {place.folder}", details=error.details
                ) from error
        # fio may print warnings before the JSON.
        return msgspec.json.decode(output[output.index("{") :], type=_Output).jobs[0]


def _load_of(job: _Job) -> FioLoad:
    """Return the result for both directions together; latencies are those of reads if there are any."""
    direction = job.read if job.read.total_ios else job.write
    both = (job.read, job.write)
    percentiles = direction.clat_ns.percentile
    return FioLoad(
        latency_us=direction.lat_ns.mean / 1000,
        p50_us=percentiles.get("50.000000", 0.0) / 1000,
        p99_us=percentiles.get("99.000000", 0.0) / 1000,
        per_second=sum(each.iops for each in both),
        mb_s=sum(each.bw_bytes for each in both) / 1e6,
    )
