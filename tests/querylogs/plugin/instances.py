"""MariaDB servers that can load the slow log plugin."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from redolab.lab import Lab
from redolab.project import PROJECT
from redolab.querylogs.plugin.building import built_slow_log_plugin
from redolab.querylogs.plugin.installing import installed
from tests.beside import folder_of_tests
from tests.querylogs.servers import UsersServer, users_server

PLUGIN = "redolab_slow_log"
_PATIENCE = 20.0


@contextmanager
def server_with_plugin(lab: Lab, name: str, folder: Path, **settings: str) -> Iterator[UsersServer]:
    """While in it: a server in `folder` that finds the plugin; every statement is slow there."""
    server = lab.server(name)
    plugin_dir = installed(folder, [built_slow_log_plugin(lab, server)])
    wanted = {
        "long_query_time": "0",
        "slow_query_log_file": "built-in.log",
        str(plugin_dir.name): str(plugin_dir.value),
        **settings,
    }
    with users_server(server, folder, wanted) as running:
        # As servers come, not as `users_server` has them.
        running.do("SET GLOBAL log_slow_filter = ''", "SET GLOBAL log_slow_disabled_statements = 'sp'")
        yield running


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so: a server logs a statement when its client has the answer already."""
    deadline = time.monotonic() + _PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to be so"
        time.sleep(0.01)


def built_stress() -> Path:
    """Where the stress test is built, once for all: that takes longer under three sanitizers than to run it."""
    build = folder_of_tests() / "lab/tools/slowlogplugin-tests"
    make = ["make", "--silent", f"--directory={PROJECT.slow_log_plugin}", f"BUILD={build}", "tests-built"]
    subprocess.run(make, check=True, capture_output=True)
    return build


def status(server: UsersServer) -> dict[str, int]:
    """What the plugin counts, without its prefix."""
    with server.instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION long_query_time = 1000")
        cursor.execute(f"SHOW GLOBAL STATUS LIKE '{PLUGIN}%'")
        return {str(name).lower().removeprefix(f"{PLUGIN}_"): int(value) for name, value in cursor.fetchall()}
