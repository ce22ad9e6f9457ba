"""`redolab size --socket`: a size for a server that is running, from two seconds of its load."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from redolab.counters.live.sampled_server import LiveServer
from redolab.lab import Lab
from redolab.servers.address import Address
from redolab.servers.dialects import SOCKET, Version
from redolab.servers.install import InstalledServer
from redolab.units import MIB
from tests.command import redolab
from tests.counters.live.watched import REQUEST, fresh, load, option_file, running

pytestmark = pytest.mark.server


def test_a_running_server_says_what_it_is_and_gets_a_size(lab: Lab, mariadb: InstalledServer, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    fresh(lab, mariadb, folder)
    with running(lab, mariadb, folder) as instance:
        loading = threading.Thread(target=load, args=(lab, instance, 6))
        loading.start()
        asked = ("size", "--defaults-file", str(option_file(folder)), "--for", "3s", "--rto", "10m", "--json")
        answer = redolab(*asked)
        loading.join()
        asked_server = LiveServer(Address(defaults_file=str(option_file(folder))))
        asked_server.close()
        assert asked_server.read_threads == 4
        refused = redolab("size", "--socket", str(folder / SOCKET), "--for", "3s", "--rto", "0s")
        nobody = redolab("size", "--socket", str(folder / "no.sock"), "--rto", "60s")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["server"] == f"mariadb-{Version.parse(mariadb.version)}"
    assert found["buffer_pool"] == REQUEST.buffer_pool
    assert found["demand"]["redo_per_hour"] > 100 * MIB
    assert 0 < found["demand"]["sampled_s"] < 60
    assert found["table"]
    assert refused.returncode == 2
    assert nobody.returncode == 1
    assert len(nobody.stderr.strip().splitlines()) <= 2
