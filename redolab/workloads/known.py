"""The workloads there are, and what they load."""

from __future__ import annotations

from typing import TypeAlias

from redolab.catalogue import Catalogue
from redolab.project import PROJECT
from redolab.workloads.contract import Workload
from redolab.workloads.sysbench import SysbenchTables, SysbenchWorkload

WorkloadData: TypeAlias = SysbenchTables
"""Any kind of data that a workload loads."""


def workload_catalogue() -> Catalogue[Workload]:
    """All workloads by name."""
    entries = Catalogue.read("workload", PROJECT.provision / "workloads.toml", SysbenchWorkload)
    return Catalogue(entries.noun, dict(entries.items()))
