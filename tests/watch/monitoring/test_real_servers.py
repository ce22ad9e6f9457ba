"""Real servers under load, a real exporter and a real Prometheus: the same size as from samples over the same time."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from redolab.counters.live.collected import read_collected
from redolab.lab import Lab
from redolab.watch.monitoring.demand import log_size_of
from redolab.watch.monitoring.endpoint import Prometheus
from redolab.watch.monitoring.http_config import HttpConfig
from redolab.watch.monitoring.promql import Expressions
from redolab.watch.monitoring.servers import Span, servers_of
from tests.command import redolab
from tests.counters.live.watched import fresh, load, option_file, running
from tests.watch.monitoring.running import exporter, prometheus, scraping

pytestmark = pytest.mark.server

_SERVERS = {"mysql-9": 19421, "mariadb-11.8": 19422}
"""Server → port of its exporter."""
_SECONDS = 40
_AROUND = 40
"""Seconds of load around the samples: commands take some to start."""


@pytest.mark.alone
def test_prometheus_tells_the_demand_that_samples_tell(lab: Lab, tmp_path: Path) -> None:
    with ExitStack() as stack:
        targets = {}
        for name, port in _SERVERS.items():
            folder = tmp_path / name / "i"
            server = lab.server(name)
            fresh(lab, server, folder)
            instance = stack.enter_context(running(lab, server, folder))
            stack.enter_context(exporter(option_file(folder), port))
            targets[name] = port
            loading = threading.Thread(target=load, args=(lab, instance, _SECONDS + _AROUND))
            stack.callback(loading.join)
            loading.start()
        url = stack.enter_context(prometheus(tmp_path / "prometheus", 19420, scraping(targets)))
        monitoring = Prometheus(url, HttpConfig(), 60)
        _wait_for_scrapes(monitoring)
        sampled = {name: tmp_path / f"{name}.csv" for name in _SERVERS}
        sampling = [
            threading.Thread(target=_sampled, args=(tmp_path / name / "client.cnf", file))
            for name, file in sampled.items()
        ]
        for each in sampling:
            each.start()
        for each in sampling:
            each.join()
        for name, file in sampled.items():
            rto = ("--rto", "5m", "--json")
            first, last = (each.wall or 0.0 for each in (read_collected(file)[0], read_collected(file)[-1]))
            end = datetime.fromtimestamp(last, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            at = ("--for", f"{last - first:.0f}s", "--end", end)
            monitored = _sized("--prometheus", url, "--instance", name, *at, *rto)
            by_samples = _sized("--samples", str(file), "--server", str(monitored["server"]), "--pool", "64M", *rto)
            assert monitored["buffer_pool"] == 64 << 20
            redo, expected = (each["demand"]["redo_per_hour"] for each in (monitored, by_samples))
            assert redo == pytest.approx(expected, rel=0.05)
            assert monitored["usual_from"] == by_samples["usual_from"]
        for server_known in servers_of(monitoring, "", Span(last, 60)):
            assert server_known.dirty_pages is not None
            assert server_known.read_threads == 4
            assert log_size_of(server_known) == 64 << 20
            assert {"log_bin", "innodb_os_log_written", "uptime"} <= server_known.variables.keys()
        fleet = tmp_path / "fleet.csv"
        done = redolab("fleet", "--prometheus", url, *at, "--rto", "5m", "-o", str(fleet))
        assert done.returncode == 0, done.stderr
        assert sorted(line.partition(",")[0] for line in fleet.read_text().splitlines()[1:]) == sorted(_SERVERS)


def _wait_for_scrapes(monitoring: Prometheus) -> None:
    """Wait until both servers were scraped: what comes before the first scrape is in no metric."""
    deadline = time.monotonic() + 30
    while len(monitoring.instant(Expressions().ages(), time.time())) < len(_SERVERS):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _sampled(client: Path, file: Path) -> None:
    done = redolab("sample", "--defaults-file", str(client), "--for", f"{_SECONDS}s", "-o", str(file))
    assert done.returncode == 0, done.stderr


def _sized(*arguments: str) -> dict[str, Any]:
    done = redolab("size", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
