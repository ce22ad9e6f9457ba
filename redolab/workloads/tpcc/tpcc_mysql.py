"""TPC-C by tpcc-mysql, where its two programs are on the machine already: the lab neither brings nor builds them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from typing_extensions import override

from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command, Process
from redolab.machine.tools import Tools
from redolab.servers.instance import Instance, NetworkAddress
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import DATABASE, Clients
from redolab.workloads.reporting import running
from redolab.workloads.tpcc.base import TpccWorkload
from redolab.workloads.tpcc.reports import TpccMysqlReports
from redolab.workloads.tpcc.tables import TpccTables

FOLDER = "REDOLAB_TPCC_MYSQL"
"""The variable that names the folder of its programs, where they are not on the PATH."""
_NAME = "tpcc-mysql"
_LOAD, _START = "tpcc_load", "tpcc_start"
_FOR_EVER = 1_000_000_000
"""Seconds: it wants to know how long it runs, in an int."""

# The tables by their clause (1.3.1), with the column order and names that the program's statements take for granted.
_SCHEMA = (
    "CREATE TABLE warehouse (w_id SMALLINT NOT NULL PRIMARY KEY, w_name VARCHAR(10), w_street_1 VARCHAR(20), "
    "w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,2), "
    "w_ytd DECIMAL(12,2)) ENGINE=InnoDB",
    "CREATE TABLE district (d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), "
    "d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,2), d_ytd DECIMAL(12,2), "
    "d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)) ENGINE=InnoDB",
    "CREATE TABLE customer (c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL, c_first VARCHAR(16), "
    "c_middle CHAR(2), c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), "
    "c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim BIGINT, "
    "c_discount DECIMAL(4,2), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt SMALLINT, "
    "c_delivery_cnt SMALLINT, c_data TEXT, PRIMARY KEY (c_w_id, c_d_id, c_id), "
    "KEY by_name (c_w_id, c_d_id, c_last, c_first)) ENGINE=InnoDB",
    "CREATE TABLE history (h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT, "
    "h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24), KEY of_customer (h_c_w_id, h_c_d_id, h_c_id), "
    "KEY of_district (h_w_id, h_d_id)) ENGINE=InnoDB",
    "CREATE TABLE new_orders (no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL, "
    "PRIMARY KEY (no_w_id, no_d_id, no_o_id)) ENGINE=InnoDB",
    "CREATE TABLE orders (o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT, "
    "o_entry_d DATETIME, o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id), "
    "KEY of_customer (o_w_id, o_d_id, o_c_id, o_id)) ENGINE=InnoDB",
    "CREATE TABLE order_line (ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, "
    "ol_number TINYINT NOT NULL, ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, ol_quantity TINYINT, "
    "ol_amount DECIMAL(6,2), ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number), "
    "KEY of_stock (ol_supply_w_id, ol_i_id)) ENGINE=InnoDB",
    "CREATE TABLE item (i_id INT NOT NULL PRIMARY KEY, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), "
    "i_data VARCHAR(50)) ENGINE=InnoDB",
    "CREATE TABLE stock (s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT, s_dist_01 CHAR(24), "
    "s_dist_02 CHAR(24), s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), "
    "s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), "
    "s_order_cnt SMALLINT, s_remote_cnt SMALLINT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id), "
    "KEY of_item (s_i_id)) ENGINE=InnoDB",
)


class TpccMysqlWorkload(TpccWorkload, frozen=True, kw_only=True, tag="tpcc-mysql"):
    """`tpcc_load` and `tpcc_start`."""

    caveats = (
        "tpcc-mysql is not TPC-C to the letter: it has no think time, its payments leave C_YTD_PAYMENT alone, and two of its "
        "deliveries can deliver one order. Hence NOTPM (New-Order transactions a minute), never tpmC (docs/workloads.md).",
    )
    # Its payments leave C_YTD_PAYMENT unchanged, and two deliveries can deliver one order (src/main.c, statements 18
    # and 25).
    broken = ("3.3.2.10", "3.3.2.11", "3.3.2.12")

    @override
    def content(self) -> str:
        return _NAME

    @override
    def require(self, lab: Lab) -> None:
        """Check that the user has built the programs: no package has them."""
        for name in (_LOAD, _START):
            _program(name)

    @property
    @override
    def loaded_by(self) -> str:
        return _NAME

    @override
    def schema(self, data: TpccTables) -> Sequence[str]:
        return _SCHEMA

    @override
    def load(self, tools: Tools, instance: Instance, data: TpccTables, output: Path) -> Process:
        command = Command([*_arguments(_LOAD, data), "-p", ""])
        return processes.start(instance.in_its_network(command), output)

    @override
    def run(
        self, tools: Tools, instance: Instance, data: TpccTables, clients: Clients, output: Path
    ) -> AbstractContextManager[RunningWorkload]:
        interval = max(1, round(clients.report_every))
        arguments = [*_arguments(_START, data), "-p", "", "-c", str(clients.connections)]
        arguments += ["-r", "0", "-l", str(_FOR_EVER), "-i", str(interval)]
        command = instance.in_its_network(Command(arguments))
        return running(_START, command, output, TpccMysqlReports(interval).report_in)


def _program(name: str) -> Path:
    """Return a program of tpcc-mysql. Raises `InvalidInput` if neither the named folder nor the PATH has it."""
    named = os.environ.get(FOLDER)
    found = Path(named).absolute() / name if named else processes.which(name)
    if found is None or not os.access(found, os.X_OK):
        where = f"in {named}" if named else "on the PATH"
        raise InvalidInput(
            f"there is no {name} {where}", f"build tpcc-mysql and name its folder in {FOLDER}, or WORKLOAD=tpcc"
        )
    return found


def _arguments(name: str, data: TpccTables) -> list[str]:
    address = NetworkAddress()
    return [
        *(str(_program(name)), "-h", address.host, "-P", str(address.port), "-d", DATABASE, "-u", address.user),
        *("-w", str(data.warehouses)),
    ]
