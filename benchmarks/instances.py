"""A server under load for the benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from redolab.crash.dataset import make_dataset
from redolab.crash.records.dataset import DatasetSpec
from redolab.lab import Lab, native_folder, open_lab
from redolab.machine import copies, files
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.dialects import InstanceRequest
from redolab.servers.initialise import initialise
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import Clients

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
    """Yield an open lab."""
    with open_lab(Progress(Console()), RunStore().clear_unfinished) as lab:
        yield lab


@contextmanager
def at_rest(lab: Lab, request: InstanceRequest) -> Iterator[Instance]:
    """Yield a server with an empty data directory and no other clients."""
    server, folder = lab.server(SERVER), native_folder(lab.folder) / "instances/benchmark"
    with lab.journal.making(folder, "the instance of a benchmark"):
        initialise(server, folder, request)
        with Instance.start(server, folder, request, folder / "error.log") as instance:
            instance.wait_ready()
            yield instance


@contextmanager
def under_load(lab: Lab, workload: str, dataset_size: int, request: InstanceRequest) -> Iterator[Loaded]:
    """Run the workload on a fresh copy of a dataset of `dataset_size` bytes."""
    home: Path = native_folder(lab.folder)
    server = lab.server(SERVER)
    load = workload_catalogue().get(workload)
    data = load.data(dataset_size)
    spec = DatasetSpec(server=SERVER, version=server.version, size=dataset_size, data=data, open_transaction_rows=0)
    dataset = make_dataset(lab, server, load, spec)
    folder = home / "instances/benchmark"
    with lab.journal.making(folder, "the instance of a benchmark"):
        prepare_folder(server, folder)
        files.remove(folder / DATA)
        copies.copy_folder(dataset.folder / DATA, folder / DATA)
        with Instance.start(server, folder, request, folder / "error.log") as instance:
            instance.wait_ready()
            with load.run(lab.tools, instance, data, Clients(connections=THREADS), folder / "workload.log") as running:
                yield Loaded(lab, instance, running)
