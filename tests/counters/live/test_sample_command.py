"""`redolab sample` against a real server under load that is killed and restarted meanwhile."""

from __future__ import annotations

import itertools
import statistics
import time
from pathlib import Path

import polars
import pytest

from redolab.lab import Lab
from redolab.servers.dialects import SOCKET
from redolab.servers.install import InstalledServer
from tests.command import redolab, redolab_running
from tests.counters.live.watched import REQUEST, SECRET, fresh, load, option_file, running
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.server


def test_killed_and_restarted_meanwhile(lab: Lab, mariadb: InstalledServer, tmp_path: Path) -> None:
    folder, kept = tmp_path / "i", tmp_path / "kept.parquet"
    fresh(lab, mariadb, folder)
    with (
        running(lab, mariadb, folder) as instance,
        redolab_running(
            "sample", "--defaults-file", str(option_file(folder)), "--every", "0.2s", "-o", str(kept)
        ) as process,
    ):
        assert process.stdout is not None
        said = [process.stdout.readline()]
        first = load(lab, instance, 2)
        instance.kill()
        time.sleep(1.5)
        with running(lab, mariadb, folder) as again:
            time.sleep(0.5)
            second = load(lab, again, 2)
            time.sleep(0.5)
            process.terminate()
            said += process.stdout.readlines()
            assert process.wait(30) == 0
    text = "".join(said)
    assert "Traceback" not in text
    assert SECRET not in text
    assert f"socket {folder}" not in text
    for words in ("the connection is lost", "connected again after", "the server was restarted", "A new row begins"):
        assert words in text, text

    frame = polars.read_parquet(kept)
    assert not kept.with_name("kept.parquet.partial.csv").exists()
    assert SECRET.encode() not in kept.read_bytes()
    restarts = (frame["uptime"].diff() < 0).sum()
    assert restarts == 1
    steps = [after - before for before, after in itertools.pairwise(frame["monotonic"].to_list())]
    assert statistics.median(steps) == pytest.approx(0.2, abs=0.05)
    assert max(steps) > 1.0
    lsn = frame["lsn"].to_list()
    assert lsn[-1] - lsn[0] >= 0.9 * (first + second)

    read_again = redolab("sample", str(kept))
    assert read_again.returncode == 0, read_again.stderr
    assert "restarted" in read_again.stdout


@pytest.mark.parametrize("name", mostly_thorough(["mysql-5.7", "mysql-8.0", "mysql-9", "mariadb-11.8"]))
def test_what_each_server_offers_to_who_may_only_connect(name: str, lab: Lab, tmp_path: Path) -> None:
    server = lab.server(name)
    folder = tmp_path / "i"
    fresh(lab, server, folder)
    with running(lab, server, folder) as instance, redolab_running(
        "sample",
        "--defaults-file", str(option_file(folder)), "--every", "0.3s", "-o", str(tmp_path / "k.csv")
    ) as process:  # fmt: skip
        assert process.stdout is not None
        said = process.stdout.readline()
        load(lab, instance, 1)
        time.sleep(1)
        process.terminate()
        said += process.stdout.read()
        assert process.wait(30) == 0, said
    said = " ".join(said.split())
    assert (tmp_path / "k.csv").exists()
    frame = polars.read_csv(tmp_path / "k.csv")
    tells_lsn = name in ("mysql-9", "mariadb-11.8")
    assert (frame["lsn"].null_count() == 0) == tells_lsn
    assert frame["os_log_written"][-1] > frame["os_log_written"][0]
    # By the formula of its version, where the server does not show it.
    assert frame["hard_limit"].is_between(0.5 * REQUEST.log_size, REQUEST.log_size).all()


def test_root_is_told_the_lsn_of_a_server_with_metrics(lab: Lab, tmp_path: Path) -> None:
    server = lab.server("mysql-5.7")
    folder = tmp_path / "i"
    fresh(lab, server, folder)
    with running(lab, server, folder):
        # The lab's own settings enable the metrics.
        done = redolab("sample", "--socket", str(folder / SOCKET), "--user", "root", "--every", "0.2", "--for", "0.5")
    assert done.returncode == 0, done.stderr
    assert "INNODB_METRICS" in done.stdout
    assert "os_log_written/LSN" in done.stdout
