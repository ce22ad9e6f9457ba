"""`redolab export` and `redolab predict --socket` beside a real server that is loaded, killed and started again."""

from __future__ import annotations

import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.servers.address import Address
from redolab.servers.dialects import SOCKET
from redolab.servers.install import InstalledServer
from redolab.units import MIB
from redolab.watch.exporting import write_file
from redolab.watch.view import CRASHES
from redolab.watch.watched import ServerToCome, WatchedServer
from redolab.workloads.inserts import TABLE
from tests.command import redolab, redolab_running
from tests.counters.live.watched import fresh, load, option_file, running
from tests.thorough import mostly_thorough
from tests.watch.exporter import PORT, Scraped, first_scrape, scraped

pytestmark = pytest.mark.server


def seconds(found: Scraped, crash: str, percentile: str) -> float:
    return found["redolab_recovery_seconds", (("crash", crash), ("percentile", percentile))]


def test_a_server_under_load_that_goes_away_and_comes_back(lab: Lab, mariadb: InstalledServer, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    fresh(lab, mariadb, folder)
    with (
        redolab_running(
            "export", "--socket", str(folder / SOCKET), "--user", "root", "--listen", f"127.0.0.1:{PORT}"
        ) as process,
        contextlib.ExitStack() as lives,
    ):
        assert first_scrape() == {("redolab_up", ()): 0.0}
        instance = lives.enter_context(running(lab, mariadb, folder))
        before = scraped()
        assert before["redolab_up", ()] == 1
        load(lab, instance, 2)
        loaded = scraped()
        assert loaded["redolab_redo_bytes_total", ()] > before["redolab_redo_bytes_total", ()] + 100_000
        assert loaded["redolab_checkpoint_age_bytes", ()] > before["redolab_checkpoint_age_bytes", ()]
        assert 0 < loaded["redolab_checkpoint_age_ratio", ()] < 1
        assert loaded["redolab_until_writers_wait_seconds", ()] > 0
        assert sum(value for (name, _), value in loaded.items() if name == "redolab_flushing_driven_by") == 1
        assert seconds(loaded, "now", "5") < seconds(loaded, "now", "50") < seconds(loaded, "now", "95")
        assert seconds(loaded, "now", "50") < seconds(loaded, "worst", "50")
        assert loaded["redolab_recovery_known", (("reason", ""),)] == 1
        with ThreadPoolExecutor(8) as scrapers:
            at_once = [each.result() for each in [scrapers.submit(scraped) for _ in range(8)]]
        assert [each["redolab_up", ()] for each in at_once] == [1.0] * 8
        instance.kill()
        assert scraped() == {("redolab_up", ()): 0.0}
        with running(lab, mariadb, folder):
            again = scraped()
            assert again["redolab_up", ()] == 1
            # Of another life nothing is known of what was before.
            assert ("redolab_os_log_written_ratio", ()) not in again
        process.terminate()
        output, _ = process.communicate(timeout=20)
        assert process.returncode == 0, output
        assert "Traceback" not in output


def test_a_redo_log_that_is_resized_is_known(
    lab: Lab, mariadb: InstalledServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "i"
    fresh(lab, mariadb, folder)
    monkeypatch.setattr("redolab.watch.watched._SETTINGS_EVERY", 0.0)
    with running(lab, mariadb, folder) as instance:
        server = WatchedServer(Address(socket=str(folder / SOCKET), user="root"), "local", None)
        before = server.look()
        with instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL innodb_log_file_size = {128 * MIB}")
        after = server.look()
        server.close()
    assert before is not None
    assert after is not None
    assert server.log_size == 128 * MIB
    assert after.expected[-1].redo > 1.5 * before.expected[-1].redo


def test_a_file_without_a_pause_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        write_file(cast(ServerToCome, None), tmp_path / "redolab.prom", 0.0)


@pytest.mark.parametrize("name", mostly_thorough(["mysql-5.7", "mysql-9", "mariadb-11.8"]))
def test_every_server_is_told_by_the_same_names_in_a_file(name: str, lab: Lab, tmp_path: Path) -> None:
    server, folder, file = lab.server(name), tmp_path / "i", tmp_path / "redolab.prom"
    fresh(lab, server, folder)
    with running(lab, server, folder), redolab_running(
        "export",
        "--defaults-file", str(option_file(folder)), "--textfile", str(file), "--every", "0.2s"
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 20
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        names = {family.name for family in text_string_to_metric_families(file.read_text())}
        assert {"redolab_up", "redolab_recovery_seconds", "redolab_recovery_known"} <= names
        # Who may only connect is told no checkpoint age by MySQL before 8.0.30.
        assert ("redolab_checkpoint_age_bytes" in names) == (name != "mysql-5.7")
        process.terminate()
        assert process.wait(20) == 0
    assert not file.exists()


def test_a_running_server_is_predicted_from_what_it_says(lab: Lab, mariadb: InstalledServer, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    fresh(lab, mariadb, folder)
    with running(lab, mariadb, folder) as instance:
        load(lab, instance, 1)
        done = redolab("predict", "--socket", str(folder / SOCKET), "--user", "root", "--json")
        assert done.returncode == 0, done.stderr
        predicted = json.loads(done.stdout)
        assert [each["crash"] for each in predicted["recoveries"]] == ["now", "highest", "worst"]
        assert predicted["recoveries"][0]["redo"] == predicted["checkpoint_age"]
        assert predicted["log_size"] == 64 * MIB
        assert predicted["why"]["seconds"] == predicted["recoveries"][-1]["ready_s"]
        with instance.connections.connect() as connection, connection.cursor() as cursor:
            connection.begin()
            changed = cursor.execute(f"DELETE FROM {TABLE} LIMIT 100")
            again = json.loads(redolab("predict", "--socket", str(folder / SOCKET), "--user", "root", "--json").stdout)
        assert again["largest_transaction_rows"] == changed == 100
        # Its binary log is off.
        assert again["prepared_s"] == 0.0
        # Who may only connect sees no transactions.
        done = redolab("predict", "--defaults-file", str(option_file(folder)), "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["largest_transaction_rows"] is None


@pytest.mark.thorough
def test_a_sample_ends_with_what_a_crash_would_have_taken(lab: Lab, mariadb: InstalledServer, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    fresh(lab, mariadb, folder)
    with running(lab, mariadb, folder) as instance:
        load(lab, instance, 1)
        for storage, rows in (("local", 3), ("the-moon", 0)):
            done = redolab(
                "sample", "--socket", str(folder / SOCKET), "--user", "root", "--every", "0.2s", "--for", "0.5s",
                "--storage", storage,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert sum(done.stdout.count(words) for words in CRASHES.values()) == rows
