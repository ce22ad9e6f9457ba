"""Production is what the vendor ships, but for what docs/workloads.md names: asked of real servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from redolab.lab import Lab
from redolab.machine import files
from redolab.project import PROJECT
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance
from redolab.units import MIB
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.server

WITHOUT_WHICH_NONE_STARTS = {"secure_file_priv", "mysqlx", "ssl"}
"""Settings of the sandbox: folders that it does not have, ports, keys."""
FOLLOWING = {
    "log_bin": ("log_bin_basename", "log_bin_index", "log_slave_updates", "log_replica_updates"),
    "character_set_server": (
        *("character_set_client", "character_set_connection", "character_set_database", "character_set_results"),
        *("collation_connection", "collation_database", "collation_server"),
    ),
    "innodb_buffer_pool_size": ("innodb_adaptive_hash_index_cells", "innodb_buffer_pool_chunk_size"),
}
"""Variables that a setting changes with it, without a line of their own."""
OF_EACH_SERVER = {"server_uuid", "server_uid", "pseudo_thread_id", "timestamp", "rand_seed1", "rand_seed2"}
"""Variables of which two starts differ, whatever is set."""


def named_on_the_page() -> set[str]:
    """The settings in the table of docs/workloads.md."""
    section = (
        (PROJECT.root / "docs/workloads.md").read_text().partition("## Production settings\n")[2].partition("\n## ")[0]
    )
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}


def variables(
    lab: Lab, server: InstalledServer, folder: Path, request: InstanceRequest, log: Path
) -> Mapping[str, str]:
    """What a server that was started so says that it uses."""
    with lab.journal.making(folder, "the instance of a test"):
        initialise(server, folder, request)
        with Instance.start(server, folder, request, log) as instance:
            instance.wait_ready(120)
            with instance.connections.connect() as connection:
                used = instance.used(connection).variables
            instance.shut_down()
        files.remove(folder)
    return used


@pytest.mark.parametrize("name", mostly_thorough(server_catalogue().names(), {"mysql-9", "mariadb-10.11"}))
def test_production_changes_only_what_its_page_names(name: str, lab: Lab, home: Path, tmp_path: Path) -> None:
    server = lab.server(name)
    production = InstanceRequest(purpose=Purpose.PRODUCTION, log_size=128 * MIB, buffer_pool=256 * MIB)
    own = {setting.name for setting in server.dialect.settings(production)}
    shipped = replace(production, without=tuple(own - WITHOUT_WHICH_NONE_STARTS))
    as_shipped, used = (
        variables(lab, server, home / f"instances/{label}", request, tmp_path / f"{label}.log")
        for label, request in (("shipped", shipped), ("production", production))
    )
    changed = {each for each in {*as_shipped, *used} if as_shipped.get(each) != used.get(each)} - OF_EACH_SERVER
    named = named_on_the_page()
    assert own <= named | {"skip_log_bin"}
    assert changed - named == {follower for each in FOLLOWING for follower in FOLLOWING[each]} & changed
    assert int(as_shipped["innodb_log_buffer_size"]) == server.dialect.log_buffer
    assert used["innodb_io_capacity"] == as_shipped["innodb_io_capacity"]


def test_the_page_names_only_what_some_server_is_given() -> None:
    production = InstanceRequest(purpose=Purpose.PRODUCTION, log_size=128 * MIB, buffer_pool=256 * MIB, binary_log=True)
    dialects = [server_catalogue().get(name).dialect() for name in server_catalogue().names()]
    assert named_on_the_page() == {setting.name for each in dialects for setting in each.settings(production)}
