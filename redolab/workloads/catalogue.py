"""Catalogue of the workloads, and of the data that they load."""

from __future__ import annotations

from redolab.catalogue import Catalogue
from redolab.project import PROJECT
from redolab.workloads.contract import Workload
from redolab.workloads.ledger import LedgerWorkload
from redolab.workloads.storm import StormWorkload
from redolab.workloads.sysbench import SysbenchWorkload
from redolab.workloads.tpcc.go_tpc import GoTpcWorkload
from redolab.workloads.tpcc.tpcc_mysql import TpccMysqlWorkload


def workload_catalogue() -> Catalogue[Workload]:
    """Return the catalogue of all workloads."""
    kinds = SysbenchWorkload | GoTpcWorkload | TpccMysqlWorkload | StormWorkload | LedgerWorkload
    entries: Catalogue[Workload] = Catalogue.read("workload", PROJECT.provision / "workloads.toml", kinds)
    return entries
