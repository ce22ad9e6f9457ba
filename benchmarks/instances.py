"""A server under load for the benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from redolab.dataset import DatasetSpec, make_dataset
from redolab.lab import Lab, native_folder, open_lab, workload_catalogue
from redolab.progress import Progress
from redolab.results import RunStore
from redolab.servers.dialects import InstanceRequest
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.workloads import RunningWorkload

SERVER = "mariadb-10.11"
THREADS = 8


@dataclass(frozen=True, slots=True)
class Loaded:
    """An instance and the workload that writes to it."""

    lab: Lab
    instance: Instance
    workload: RunningWorkload


@contextmanager
def bench_lab() -> Iterator[Lab]:
    """While in it: an open lab."""
    with open_lab(Progress(Console()), RunStore().clear_unfinished) as lab:
        yield lab


@contextmanager
def under_load(lab: Lab, workload: str, dataset_size: int, request: InstanceRequest) -> Iterator[Loaded]:
    """While in it: the workload writes to a fresh copy of a dataset of so many bytes."""
    home: Path = native_folder(lab.folder)
    server = lab.server(SERVER)
    spec = DatasetSpec(server=SERVER, version=server.version, size=dataset_size, open_transaction_rows=0)
    dataset = make_dataset(lab, home, server, spec)
    folder = home / "instances/benchmark"
    with lab.ledger.making(folder, "the instance of a benchmark"):
        prepare_folder(lab.host, server, folder, [])
        lab.host.files.remove(folder / DATA)
        lab.host.files.copy_folder(dataset.folder / DATA, folder / DATA)
        with Instance.start(lab.host, server, folder, request, folder / "error.log") as instance:
            instance.wait_ready()
            load = workload_catalogue().get(workload)
            with load.run(lab.host, lab.tools, folder, spec.tables, THREADS, folder / "workload.log") as running:
                yield Loaded(lab, instance, running)
