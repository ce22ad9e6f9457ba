"""What is shipped for Prometheus and Grafana: it is valid, the alert fires, and every expression has metrics of ours."""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from redolab.counters.series import SegmentGrowth
from redolab.lab import Lab
from redolab.predict.question import Question
from redolab.predict.recovery import Prediction
from redolab.predict.recovery_time.spread import Spread
from redolab.predict.recovery_time.terms import Part
from redolab.project import PROJECT
from redolab.servers.dialects import SOCKET
from redolab.servers.install import InstalledServer
from redolab.servers.redo_counters import Sample
from redolab.units import GIB, MIB
from redolab.watch.crash_now import Expected, Unknown, When, expectations
from redolab.watch.metrics import ServerCollector, metrics_of
from redolab.watch.monitoring.endpoint import Prometheus
from redolab.watch.monitoring.http_config import HttpConfig
from redolab.watch.standing import FlushLimits
from redolab.watch.watched import ServerToCome, Standing
from tests.command import redolab_running
from tests.counters.live.watched import fresh, load, running
from tests.watch.exporter import PORT, first_scrape
from tests.watch.monitoring.running import prometheus, unpacked

_FOLDER = PROJECT.root / "provision/monitoring"
_METRIC = re.compile(r"redolab_[a-z_]+")
STANDING = Standing(
    sample=Sample(
        monotonic=10.0,
        wall=100.0,
        lsn=5_000_000,
        os_log_written=9_000_000,
        checkpoint_age=50 * MIB,
        hard_limit=100 * MIB,
        dirty_pages=700,
    ),
    limits=FlushLimits(hard=100 * MIB, sync=80 * MIB, adaptive=10 * MIB, dirty_share=0.9, pool_pages=1000),
    growth=SegmentGrowth(5.0, 1_000_000, 3_000_000, None),
    seconds_until_waiting=25.0,
    expected=tuple(
        Expected(when, 50 * MIB, 700, Prediction({Part.SCAN: 4.0}, 0.0, Spread(deviation=0.3, count=30)))
        for when in When
    ),
)


def dashboard_expressions() -> list[str]:
    """Return every expression of the dashboard, with any server for its variable."""
    panels = json.loads((_FOLDER / "grafana.json").read_text())["panels"]
    return [each["expr"].replace("$instance", ".*") for panel in panels for each in panel["targets"]]


def alert_expressions() -> list[str]:
    """Return every expression of the alert rules."""
    return re.findall(r"^ +expr: (.+)$", (_FOLDER / "alerts.yml").read_text(), re.MULTILINE)


def test_dashboard_and_alerts_use_metrics_that_are_exported() -> None:
    exported = {sample.name for metric in metrics_of(STANDING) for sample in metric.samples}
    exported |= {"redolab_up", "redolab_recovery_known"}
    used = {name for text in (*dashboard_expressions(), *alert_expressions()) for name in _METRIC.findall(text)}
    assert used
    assert used <= exported


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
    samples = [sample for metric in ServerCollector(cast(ServerToCome, server)).collect() for sample in metric.samples]
    assert [each.labels for each in samples if each.name == "redolab_recovery_known"] == [{"reason": "not_measured"}]


@pytest.mark.server
@pytest.mark.alone
def test_the_alerts_fire_when_they_are_to_and_not_before() -> None:
    for arguments in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run(
            [str(unpacked("promtool")), *arguments], cwd=_FOLDER, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.server
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
    with (
        running(lab, mariadb, folder) as instance,
        redolab_running("export", "--socket", str(folder / SOCKET), "--user", "root", "--listen", f"127.0.0.1:{PORT}"),
        prometheus(tmp_path, 19490, config) as url,
    ):
        first_scrape()
        load(lab, instance, 3)
        asked, without = Prometheus(url, HttpConfig(), 10), dashboard_expressions()
        deadline = time.monotonic() + 30
        while without and time.monotonic() < deadline:
            without = [each for each in without if not asked.instant(each, time.time())]
            time.sleep(0.5)
        assert not without
        with urllib.request.urlopen(f"{url}/api/v1/alerts", timeout=10) as answer:
            alerts = json.loads(answer.read())["data"]["alerts"]
        assert {"RecoveryBeyondObjective"} <= {
            each["labels"]["alertname"] for each in alerts if each["state"] == "pending"
        }
