"""Factors of an experiment refuse nonsense before anything is started."""

from __future__ import annotations

from typing import Any

import pytest

from redolab.errors import InvalidInput
from redolab.runs.experiment import Experiment
from redolab.runs.factors import read_factors
from redolab.runs.loading import load_experiment

REFUSED = {
    "binlog-purge": [
        ({"file_size": "3G"}, "a binary log file of 3G cannot be had"),
        ({"file_size": "4K"}, "a binary log file of 4K cannot be had"),
        ({"purged": "100M"}, "a file of 1G is more than the 100M that are removed"),
        ({"storage": "tmpfs"}, "the storage tmpfs is memory"),
        ({"storage": "cloud-ssd", "file_system": "as-is"}, "no file system of its own yet"),
        ({"seconds": "500ms"}, "are too short"),
    ],
    "durability": [
        ({"binary_log": "sometimes"}, "'sometimes' is no state of the binary log"),
        # Only runs of the past have it.
        ({"variation": "encrypted"}, "there is no variation 'encrypted'"),
    ],
    "inflation": [
        ({"trx_commit": "3"}, "'3' is not a whole number from 0 to 2"),
        ({"log_size": "1M"}, "a redo log of 1M is too small: give it 64M or more"),
        ({"binary_log": "maybe"}, "'maybe' is neither on nor off"),
        ({"seconds": "0"}, "'0' is not a whole number from 1 to 3600"),
    ],
    "logging-impact": [({"server": "mysql-9", "logs": "audit,plugin"}, "mysql-9 has none of these logs")],
    "production": [({"moment": "5m-5m"}, "20 crashes cannot all come at one moment")],
    "recovery": [
        ({"seed": "x"}, "is not a whole number"),
        ({"log_size": "1K"}, "a redo log of 1K is too small for mariadb-10.11: it takes 4M and more"),
        ({"log_size": "900T"}, "a redo log of 900T is too large for mariadb-10.11: it takes 524288M at most"),
        ({"pool": "1M"}, "a buffer pool of 1M is too small"),
        ({"dataset": "1K"}, "a dataset of 1K is too small"),
        ({"repeat": "0"}, "'0' is not a whole number from 1 to 1000"),
        ({"storage": "floppy"}, "there is no storage profile 'floppy': choose from native"),
        ({"workload": "sleep"}, "there is no workload 'sleep': choose from bulk-update"),
        ({"kill_at": "300%"}, "'300%' is not a percentage"),
        ({"sample_every": "0.01s"}, "a sample every 0.01 s is not possible: choose 0.1s to 60s"),
        ({"warehouses": "2"}, "bulk-update has no warehouses: WORKLOAD=tpcc has"),
        (
            {"workload": "tpcc", "warehouses": "2", "dataset": "1G"},
            "warehouses and a dataset's size exclude each other",
        ),
        ({"think_time": "on"}, "bulk-update has no think time"),
        ({"warmup": "2s"}, "clients cannot be followed for 2 s: choose 0s, or 10s to 6h"),
        ({"server": "mysql-5.5", "pool_dump": "on"}, "mysql-5.5 cannot dump its buffer pool"),
    ],
    "resizing": [
        ({"log_size": "1G"}, "1 sizes cannot take turns"),
        ({"log_size": "1G,2G,4G"}, "3 sizes cannot take turns"),
        ({"server": "mysql-8.0"}, "mysql-8.0 changes the size of its redo log only at a start"),
        ({"server": "mariadb-10.5"}, "mariadb-10.5 changes the size of its redo log only at a start"),
        ({"log_size": "256M,1.3G"}, "rounds a redo log"),
        ({"seconds": "1s"}, "a turn of 1.00 s says nothing"),
        ({"storage": "tmpfs"}, "does not fit into memory"),
        ({"workload": "bulk-update", "warehouses": "3"}, "bulk-update has no warehouses"),
    ],
    "rotation": [
        ({"method": "mv"}, "there is no method 'mv': choose from copytruncate, rename-flush"),
        ({"file_system": "as-is"}, "cloud-ssd is a disk of the lab's, which has no file system yet"),
        ({"storage": "tmpfs"}, "the lab makes no file systems on tmpfs"),
        ({"seconds": "5", "method": "rename-flush"}, "logging is held for longer than fits into stretches of 5 s"),
        ({"log_file": "1K"}, "a log of 1K is not rotated"),
        (
            {"server": "mariadb-11.8", "method": "rename-usr1"},
            "no combination of these exists: server mariadb-11.8; .* method rename-usr1",
        ),
        ({"log_file": "10G"}, "a copy of 10G takes cloud-ssd 82 s or more"),
    ],
    "settings": [
        ({"seconds": "1s"}, "a load of 1.00 s says nothing"),
        ({"vary": "innodb_io_capacity"}, "there is no setting 'innodb_io_capacity'"),
        ({"server": "mysql-5.5", "log_size": "8G"}, "mysql-5.5 cannot have a redo log of 8G"),
    ],
    "slowlog-plugin": [
        ({"arm": "paper"}, "'paper' is no way of logging"),
        ({"log": "moon"}, "'moon' is no place for a log"),
        ({"server": "mysql-5.7"}, r"mysql-5\.7 cannot load the plugin, a plugin of MariaDB"),
        ({"server": "mariadb-10.5"}, "mariadb-10.5 cannot load the plugin, built for MariaDB 10.11 and later"),
        ({"buffer": "1G"}, "a buffer has 1 byte to 16M"),
    ],
    "throughput": [
        ({"limit": "1m", "window": "1m"}, "a load cannot become steady within 1 min 0 s"),
        ({"window": "1s"}, "a window of 1.00 s is too short"),
        ({"seconds": "5s"}, "a load of 5.00 s says nothing"),
        ({"log_size": "1M"}, "mariadb-11.8 cannot have a redo log of 1M"),
        ({"workload": "bulk-update", "warehouses": "2"}, "bulk-update has no warehouses"),
        ({"warehouses": "2", "dataset": "1G"}, "exclude each other"),
        ({"pool": "1M"}, "a buffer pool of 1M is too small"),
    ],
}


@pytest.mark.parametrize(
    ("experiment", "given", "said"), [(name, *case) for name, cases in REFUSED.items() for case in cases]
)
def test_what_cannot_be_measured_is_refused(experiment: str, given: dict[str, str | None], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        _check(load_experiment(experiment), given)


def _check(experiment: Any, given: dict[str, str | None]) -> None:
    factors = read_factors(experiment.factors(), given)
    if issubclass(experiment, Experiment):
        experiment.cells(factors)
    else:
        factors.check()
