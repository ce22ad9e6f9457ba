"""Checked recoveries an hour, one at a time and several at once.

The crash state comes from a server that is killed without a load. It has as little redo as possible: the lab's own
part, the server's start and the checks take the time.

.venv/bin/python -m benchmarks.checked_recoveries
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.instances import bench_lab
from redolab.crash.crash import CrashLoad, WantedState, crash_images
from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import CrashImage, CrashSpec
from redolab.crash.records.dataset import DatasetSpec
from redolab.crash.records.kill_rule import KillRule
from redolab.crash.records.verdict import Judgement
from redolab.crash.recovery.checked import CheckedRecovery, ImageTask, checks_of_images, recover_checked
from redolab.crash.recovery.task import recovery_request
from redolab.disks.place import Place
from redolab.disks.profiles import HOME
from redolab.lab import Lab, native_folder
from redolab.machine.device import BlockDevice
from redolab.runs.schema import Ruling
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.sizes import SMALLEST_POOL
from redolab.units import MIB
from redolab.workloads.catalogue import workload_catalogue

_SERVERS = ("mariadb-10.11", "mysql-9")
_WORKLOAD = "bulk-update"
_RECOVERIES = 24
_JOBS = (1, 2, 3)


def main() -> None:
    """Measure and print."""
    with bench_lab() as lab:
        images = ImageStore(native_folder(lab.folder))
        for name in _SERVERS:
            image = _crashed(lab, name)
            try:
                for jobs in _JOBS:
                    seconds, right = _measured(lab, images, image, jobs)
                    print(
                        f"{name:<14} {jobs} at a time: {seconds / _RECOVERIES:5.2f} s a recovery, "
                        f"{3600 * _RECOVERIES / seconds:6,.0f} an hour ({right} of {_RECOVERIES} right)"
                    )
            finally:
                images.remove(image.name, lab.journal)


def _crashed(lab: Lab, name: str) -> CrashImage:
    server, workload = lab.server(name), workload_catalogue().get(_WORKLOAD)
    data = workload.data(16 * MIB)
    dataset = DatasetSpec(server=name, version=server.version, size=16 * MIB, data=data, open_transaction_rows=100)
    spec = CrashSpec(
        dataset=dataset,
        workload=_WORKLOAD,
        threads=1,
        kill=KillRule(after=0.5),
        instance=InstanceRequest(purpose=Purpose.FILL, log_size=64 * MIB, buffer_pool=64 * MIB),
    )
    load = CrashLoad(server=server, workload=workload, wanted=[WantedState(spec=spec)])
    (image,) = crash_images(lab, load)
    return image


def _measured(lab: Lab, images: ImageStore, image: CrashImage, jobs: int) -> tuple[float, int]:
    """Run all recoveries. Return their seconds together, and the number of correct ones."""
    home = native_folder(lab.folder)
    place = Place(name=HOME, folder=home, device=BlockDevice.under(home))
    server = lab.server(image.spec.dataset.server)
    rulings: list[Ruling] = []

    def done(checked: CheckedRecovery[ImageTask, Judgement]) -> None:
        rulings.append(checked.verdict.ruling)

    with tempfile.TemporaryDirectory() as logs:
        tasks = [
            ImageTask(
                number=number,
                server=server,
                request=recovery_request(image, SMALLEST_POOL, ""),
                log=Path(logs) / f"{number}.log",
                image=image,
                turn=2,
            )
            for number in range(1, _RECOVERIES + 1)
        ]
        began = time.monotonic()
        recover_checked(lab, tasks, checks_of_images(lab, images, place), jobs, done)
        return time.monotonic() - began, rulings.count(Ruling.RIGHT)


if __name__ == "__main__":
    main()
