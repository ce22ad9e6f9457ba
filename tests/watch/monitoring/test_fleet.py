"""A fleet that a real Prometheus knows, from blocks that promtool wrote: what is asked, answered, written and refused."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import polars
import pytest

from benchmarks.synthetic_fleet import EVERY, SyntheticServer, write_blocks
from redolab.counters.series import HOUR
from redolab.units import GIB
from redolab.watch.monitoring.endpoint import Prometheus
from redolab.watch.monitoring.fleet import FleetRow, since
from redolab.watch.monitoring.fleet_report import answer, html_page, read_fleet, write_fleet
from redolab.watch.monitoring.http_config import HttpConfig
from redolab.watch.monitoring.servers import AGES, DAY, MonitoredServer, Span, matchers_of, servers_of
from tests.command import redolab
from tests.watch.monitoring.running import prometheus, unpacked

pytestmark = [pytest.mark.server, pytest.mark.alone]
_END = 1_795_824_000
_WHEN = datetime.fromtimestamp(_END, UTC).strftime("%Y-%m-%dT%H:%M:%S")
_SERVERS = [SyntheticServer(number) for number in range(8)]
_SPAN = Span(_END, 3 * DAY)
_SECRET = "what only the file knows"
_HASH = "$2b$04$abcdefghijklmnopqrstuuf4PkPpzy3o4pL3iydpgnbGrmbC8.kXC"
"""Of it, by bcrypt."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fleet")
    (made / "data").mkdir()
    write_blocks(unpacked("promtool"), made / "data", _SERVERS, _END - 3 * int(DAY), _END)
    return made


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with prometheus(folder, 19430) as at:
        yield at


@pytest.fixture(scope="module")
def asked(url: str) -> Prometheus:
    return Prometheus(url, HttpConfig(), 60)


@pytest.fixture(scope="module")
def servers(asked: Prometheus) -> list[MonitoredServer]:
    return servers_of(asked, "", _SPAN)


def test_every_server_is_known_by_its_own_metrics(servers: list[MonitoredServer]) -> None:
    assert [each.name for each in servers] == [f"db-{number:04}:9104" for number in range(8)]
    for each, made in zip(servers, _SERVERS, strict=True):
        assert each.version == made.kind[0]
        assert each.pool == made.pool
        assert each.labels["job"] == "mysql"
        assert len(each.ages) >= AGES - 5
        assert not each.is_resized


def test_the_busiest_hour_of_each_day_is_that_of_the_series(servers: list[MonitoredServer]) -> None:
    for each, made in zip(servers, _SERVERS, strict=True):
        times = np.arange(_END - int(DAY) - int(HOUR), _END, EVERY)
        values = made.series(times, _END - 3 * int(DAY))
        lsn = next(values[name] for name in values if name.endswith(("current_lsn", "lsn_current")))
        busiest = float((lsn[60:] - lsn[:-60]).max())
        assert len(each.days) == 3
        # Windows that a restart or a gap is in are left out.
        assert each.days[0].redo_per_hour == pytest.approx(busiest, rel=0.05)


def test_queries_do_not_grow_with_servers(url: str) -> None:
    counts = []
    for matchers in ("", 'instance="db-0003:9104"'):
        each = Prometheus(url, HttpConfig(), 60)
        servers_of(each, matchers, _SPAN)
        counts.append(each.queries)
    assert counts[0] == counts[1]


def test_a_server_is_named_with_or_without_its_port(asked: Prometheus) -> None:
    assert matchers_of(asked, "db-0003", _END) == matchers_of(asked, "db-0003:9104", _END) == 'instance="db-0003:9104"'


def test_the_fleet_is_written_in_each_form_and_compared_with_an_earlier_one(url: str, tmp_path: Path) -> None:
    rules = tmp_path / "servers.toml"
    rules.write_text(
        '[[servers]]\nmatch = { instance = "db-000[01].*" }\nstorage = "gp3-3000"\nrto = "20s"\n'
        '[[servers]]\nmatch = { job = "mysql" }\nworkload = "bulk-update"\n'
    )
    files = [tmp_path / f"fleet.{suffix}" for suffix in ("csv", "parquet", "html")]
    at = ("--prometheus", url, "--end", _WHEN, "--for", "3d", "--rto", "5m")
    outputs = [argument for file in files for argument in ("-o", str(file))]
    done = redolab("fleet", *at, "--servers", str(rules), *outputs)
    assert done.returncode == 0, done.stderr
    rows = read_fleet(files[0])
    assert rows == read_fleet(files[1])
    assert rows["db-0000:9104"].storage == "gp3-3000"
    assert rows["db-0000:9104"].rto_s == 20
    assert rows["db-0002:9104"].workload == "bulk-update"
    told = [each for each in rows.values() if each.checkpoint_age_95 is not None]
    assert told
    assert all(0 < (each.now_s or 0) <= (each.worst_s or 0) < (each.worst_95_s or 0) for each in told)
    assert all(each.is_late_now == ((each.now_95_s or 0) > each.rto_s) for each in told)
    named = answer([msgspec.structs.replace(each, rto_s=0.01) for each in told])
    assert all(each.server in named for each in told[:1])
    overruns = [each.overrun for each in rows.values()]
    assert overruns == sorted(overruns, reverse=True)
    assert sum(each.meets_rto is False for each in rows.values()) > 0
    page = files[2].read_text()
    assert page.count("<tr") == 1 + len(rows)
    assert "http" not in page.replace(url, "")

    later = tmp_path / "later.csv"
    done = redolab("fleet", *at, "--match", 'instance!="db-0007:9104"', "--since", str(files[0]), "-o", str(later))
    assert done.returncode == 0, done.stderr
    changes = {name: row.change for name, row in read_fleet(later).items()}
    assert "db-0007:9104" not in changes
    assert changes["db-0001:9104"] or changes["db-0000:9104"]
    # Of the servers that are gone.
    assert "db-0007:9104" in done.stdout


def test_size_of_one_server_has_the_peak_of_the_fleet(url: str, servers: list[MonitoredServer]) -> None:
    done = redolab(
        "size", "--prometheus", url, "--instance", "db-0004", "--end", _WHEN, "--for", "3d", "--rto", "5m", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    demand = found["demand"]
    assert demand["redo_per_hour"] == max(day.redo_per_hour or 0 for day in servers[4].days)
    assert demand["days"] == 3
    assert demand["month_per_hour"] > demand["redo_per_hour"]
    assert found["server"] == "mariadb-11.8.3"


def test_what_cannot_be_asked_is_one_line(url: str, tmp_path: Path) -> None:
    config, web = tmp_path / "http.yml", tmp_path / "web.yml"
    config.write_text(f"basic_auth:\n  username: reader\n  password: {_SECRET}\n")
    web.write_text(f"basic_auth_users:\n  reader: {_HASH}\n")
    (tmp_path / "empty").mkdir()
    with prometheus(tmp_path / "empty", 19431, "", f"--web.config.file={web}") as guarded, _no_prometheus() as other:
        refused: list[tuple[int, tuple[str, ...]]] = [
            (2, (guarded,)),
            # It knows no server.
            (2, (guarded, "--http-config", str(config))),
            (1, (other,)),
            (1, (url, "--timeout", "1ms")),
            (2, (url, "--match", "instance=3")),
            (2, (url, "--match", 'instance="nobody"')),
        ]
        for status, arguments in refused:
            done = redolab("fleet", "--end", _WHEN, "--for", "3d", "--rto", "5m", "--prometheus", *arguments)
            assert done.returncode == status, arguments
            assert done.stderr.count("\n") == 1
            assert _SECRET not in done.stderr


@contextmanager
def _no_prometheus() -> Iterator[str]:
    """Run a server of files, which has no API, within the block. Yield its URL."""
    with http.server.HTTPServer(("127.0.0.1", 19432), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_changes_and_files_keep_what_is_not_known(tmp_path: Path) -> None:
    row = FleetRow(
        server="1001",
        version="9.7.0",
        storage="local",
        rto_s=300,
        buffer_pool=GIB,
        log_size=GIB,
        reason="no LSN",
        size=None,
    )
    known = msgspec.structs.replace(row, bound_s=float("inf"), usual_95_s=float("inf"), meets_rto=False, size=GIB)
    assert since([row], {"1001": row})[0].change == ""
    assert since([known], {"1001": row})[0].change
    assert since([known], {})[0].change == "new"
    for name in ("fleet.csv", "fleet.parquet"):
        write_fleet(tmp_path / name, [row, msgspec.structs.replace(known, server="1002")], ())
        assert read_fleet(tmp_path / name) == {"1001": row, "1002": msgspec.structs.replace(known, server="1002")}
    assert polars.read_csv(tmp_path / "fleet.csv").height == 2
    assert "never" in html_page([known], ())
