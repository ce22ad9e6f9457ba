"""What is shipped for Prometheus and Grafana: it is valid, the alert fires, and every expression has metrics of ours."""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redolab.lab import Lab
from redolab.predict.question import Question
from redolab.project import PROJECT
from redolab.servers.dialects import SOCKET
from redolab.servers.install import InstalledServer
from redolab.units import GIB
from redolab.watch.crash_now import Unknown, expectations
from redolab.watch.metrics import ServerCollector, metrics_of
from redolab.watch.watched import ServerToCome
from tests.command import redolab_running
from tests.counters.live.watched import fresh, load, running
from tests.watch.example import STANDING
from tests.watch.exporter import PORT, first_scrape
from tests.watch.prometheus import unpacked

_PROMETHEUS = 19490
_FOLDER = PROJECT.root / "provision/monitoring"
_METRIC = re.compile(r"redolab_[a-z_]+")


def dashboard_expressions() -> list[str]:
    """Every expression of the dashboard, with any server for its variable."""
    panels = json.loads((_FOLDER / "grafana.json").read_text())["panels"]
    return [each["expr"].replace("$instance", ".*") for panel in panels for each in panel["targets"]]


def alert_expressions() -> list[str]:
    """Every expression of the alert rules."""
    return re.findall(r"^ +expr: (.+)$", (_FOLDER / "alerts.yml").read_text(), re.MULTILINE)


def test_every_metric_that_is_asked_for_is_one_that_is_told() -> None:
    told = {sample.name for metric in metrics_of(STANDING) for sample in metric.samples}
    told |= {"redolab_up", "redolab_recovery_known"}
    asked = {name for text in (*dashboard_expressions(), *alert_expressions()) for name in _METRIC.findall(text)}
    assert asked
    assert asked <= told


def test_names_and_labels_are_as_prometheus_has_them() -> None:
    """The unit is last, and `quantile` and `le` belong to summaries and histograms."""
    for metric in metrics_of(STANDING):
        units = [each for each in metric.name.split("_") if each in ("seconds", "bytes", "ratio")]
        assert metric.name.endswith(tuple(units[-1:])) or not units
        assert not {"quantile", "le"} & {label for sample in metric.samples for label in sample.labels}


def test_the_reason_why_nothing_is_predicted_is_one_of_a_few_words() -> None:
    """A sentence with sizes and names in it would be a new series for each."""
    asked = Question(server="mysql-9", storage="local", pool=2 * GIB)
    nowhere = replace(asked, storage="the-moon")
    reasons = [expectations(*each).unknown for each in ((asked, GIB), (asked, None), (asked, 1), (nowhere, GIB))]
    assert reasons == [None, Unknown.LOG_SIZE, Unknown.IMPOSSIBLE_LOG, Unknown.NOT_MEASURED]

    server = SimpleNamespace(look=lambda: STANDING, server=SimpleNamespace(expectations=expectations(nowhere, GIB)))
    told = [sample for metric in ServerCollector(cast(ServerToCome, server)).collect() for sample in metric.samples]
    assert [each.labels for each in told if each.name == "redolab_recovery_known"] == [{"reason": "not_measured"}]


@pytest.mark.alone
def test_the_alerts_fire_when_they_are_to_and_not_before() -> None:
    for arguments in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run(
            [str(unpacked("promtool")), *arguments], cwd=_FOLDER, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.alone
def test_a_real_prometheus_has_data_for_every_panel_and_a_pending_alert(
    lab: Lab, mariadb: InstalledServer, tmp_path: Path
) -> None:
    """Scraped every second; the objective is so short here that the alert's condition holds at once."""
    folder = tmp_path / "i"
    fresh(lab, mariadb, folder)
    rules = (_FOLDER / "alerts.yml").read_text().replace("> 300", "> 0")
    (tmp_path / "alerts.yml").write_text(rules)
    config = (_FOLDER / "prometheus.yml").read_text().replace("15s", "1s").replace(":9400", f":{PORT}")
    (tmp_path / "prometheus.yml").write_text(config)
    with (
        running(lab, mariadb, folder) as instance,
        redolab_running("export", "--socket", str(folder / SOCKET), "--user", "root", "--listen", f"127.0.0.1:{PORT}"),
        _prometheus(tmp_path),
    ):
        first_scrape()
        load(lab, instance, 3)
        without = dict.fromkeys(dashboard_expressions())
        deadline = time.monotonic() + 30
        while without and time.monotonic() < deadline:
            without = {each: None for each in without if not _query(each)}
            time.sleep(0.5)
        assert not without
        pending = [each["labels"]["alertname"] for each in _asked("alerts")["alerts"] if each["state"] == "pending"]
        assert "RecoveryBeyondObjective" in pending


@contextmanager
def _prometheus(folder: Path) -> Iterator[None]:
    command = [
        str(unpacked("prometheus")), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{_PROMETHEUS}",
    ]  # fmt: skip
    with (folder / "prometheus.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield
        finally:
            process.terminate()


def _asked(what: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{_PROMETHEUS}/api/v1/{what}", timeout=10) as answer:
        found: dict[str, Any] = json.loads(answer.read())["data"]
    return found


def _query(expression: str) -> bool:
    """Whether there is a value of it."""
    try:
        return bool(_asked("query?" + urllib.parse.urlencode({"query": expression}))["result"])
    except OSError:
        return False
