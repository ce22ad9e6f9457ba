"""What a monitored server asks of its log, by what metrics tell of it; and who may ask a Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from redolab.counters.series import HOUR
from redolab.errors import InvalidInput
from redolab.units import GIB
from redolab.watch.monitoring.demand import demand_of_monitored, log_size_of
from redolab.watch.monitoring.http_config import PASSWORD, TOKEN, USER, read_http_config
from redolab.watch.monitoring.promql import matcher
from redolab.watch.monitoring.servers import DAY, MonitoredDay, MonitoredServer, Span

_SPAN = Span(1_795_824_000, 3 * DAY)


def day(redo: float | None, covered: float = DAY) -> MonitoredDay:
    return MonitoredDay(DAY, covered, redo)


def server(days: Sequence[MonitoredDay], **variables: int) -> MonitoredServer:
    given = {"innodb_redo_log_capacity": 2 * GIB, "innodb_buffer_pool_size": 8 * GIB, **variables}
    return MonitoredServer(
        name="db-1",
        labels={"instance": "db-1"},
        version="9.7.4",
        variables={name: str(value) for name, value in given.items()},
        days=days,
        ages=[GIB // 2, GIB, GIB // 4] * 10,
        dirty_pages=None,
        tables=None,
        is_resized=False,
    )


WHOLE = server([day(3 * GIB), day(5 * GIB), day(4 * GIB)])


def test_the_peak_is_that_of_the_busiest_day() -> None:
    demand = demand_of_monitored(WHOLE, _SPAN)
    assert demand.redo_per_hour == 5 * GIB
    assert demand.days == 3
    assert demand.month_per_hour is not None
    assert demand.ages[0] == GIB // 4
    assert demand.age_limit is not None
    assert 0.7 * 2 * GIB < demand.age_limit < 2 * GIB
    assert demand.sampled_s == 3 * DAY
    assert demand.warnings == ()


def test_a_day_with_gaps_tells_no_month_and_is_said() -> None:
    demand = demand_of_monitored(server([day(3 * GIB), day(5 * GIB, 0.5 * DAY), day(None, 0)]), _SPAN)
    assert demand.redo_per_hour == 5 * GIB
    assert demand.days == 1
    assert any("have no samples" in each for each in demand.warnings)


def test_a_resized_log_and_an_unknown_one_are_said() -> None:
    assert any("another size" in each for each in demand_of_monitored(replace(WHOLE, is_resized=True), _SPAN).warnings)
    unknown = replace(WHOLE, variables={})
    assert log_size_of(unknown) is None
    assert demand_of_monitored(unknown, _SPAN).age_limit is None


def test_os_log_written_is_refused_and_else_a_bound() -> None:
    without = server([replace(day(None), os_log_written_per_hour=9.0 * GIB, log_writes_per_hour=9.0 * GIB / 1024)])
    for refused, bound in ((without, False), (server([day(None)]), True)):
        with pytest.raises(InvalidInput):
            demand_of_monitored(refused, _SPAN, from_os_log_written=bound)
    demand = demand_of_monitored(without, _SPAN, from_os_log_written=True)
    assert demand.redo_per_hour == 9 * GIB
    # Each write rewrote a block of 512 bytes, and half of what was written may be padding.
    assert any("2.32G and 9G" in each for each in demand.warnings)


def test_the_mean_since_the_start_is_of_the_server_itself() -> None:
    demand = demand_of_monitored(server([day(GIB)], innodb_os_log_written=7200, uptime=7200), _SPAN)
    assert demand.os_log_written_mean == HOUR


def test_days_cover_the_time_and_no_more() -> None:
    assert Span(100 * DAY, 2.5 * DAY).days() == [(100 * DAY, DAY), (99 * DAY, DAY), (98 * DAY, DAY / 2)]
    assert Span(100 * DAY, 600).days() == [(100 * DAY, 600)]
    assert Span(100 * DAY, DAY + 60).days() == [(100 * DAY, DAY)]


def test_a_value_in_a_matcher_is_no_promql() -> None:
    assert matcher("instance", 'a"} or up{b="\\') == 'instance="a\\"} or up{b=\\"\\\\"'


def test_who_asks_comes_from_the_file_or_else_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (TOKEN, USER, PASSWORD):
        monkeypatch.delenv(name, raising=False)
    assert read_http_config(None).headers() == {}
    monkeypatch.setenv(USER, "me")
    monkeypatch.setenv(PASSWORD, "secret")
    assert read_http_config(None).headers() == {"Authorization": "Basic bWU6c2VjcmV0"}
    monkeypatch.setenv(TOKEN, "t")
    assert read_http_config(None).headers() == {"Authorization": "Bearer t"}
    file, secret = tmp_path / "http.yml", tmp_path / "secret"
    secret.write_text("in a file\n")
    file.write_text(f"authorization:\n  credentials_file: {secret}\n")
    assert read_http_config(file).headers() == {"Authorization": "Bearer in a file"}


@pytest.mark.parametrize(
    "text",
    [
        "basic_auth: {username: me}\nauthorization: {credentials: t}\n",
        "oauth2: {}\n",
        "basic_auth: [\n",
        "",
    ],
)
def test_a_file_that_says_too_much_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "http.yml"
    file.write_text(text)
    for path in (file, tmp_path / "none.yml"):
        with pytest.raises(InvalidInput) as refused:
            read_http_config(path)
        assert str(path) in refused.value.problem
