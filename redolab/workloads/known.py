"""The workloads there are, and what they load."""

from __future__ import annotations

from typing import TypeAlias

from redolab.catalogue import Catalogue
from redolab.project import PROJECT
from redolab.workloads.contract import Workload
from redolab.workloads.storm import StormTables, StormWorkload
from redolab.workloads.sysbench import SysbenchTables, SysbenchWorkload
from redolab.workloads.tpcc.go_tpc import GoTpcWorkload
from redolab.workloads.tpcc.tables import TpccTables
from redolab.workloads.tpcc.tpcc_mysql import TpccMysqlWorkload

WorkloadData: TypeAlias = SysbenchTables | TpccTables | StormTables
"""Any kind of data that a workload loads."""


def workload_catalogue() -> Catalogue[Workload]:
    """All workloads by name."""
    kinds = SysbenchWorkload | GoTpcWorkload | TpccMysqlWorkload | StormWorkload
    entries: Catalogue[Workload] = Catalogue.read("workload", PROJECT.provision / "workloads.toml", kinds)
    return entries
