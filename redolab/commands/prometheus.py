"""Options that name a Prometheus, the same for every command that asks one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from redolab.commands.shared_options import gathered

if TYPE_CHECKING:
    from redolab.watch.monitoring.endpoint import Prometheus
    from redolab.watch.monitoring.servers import Span

_LONG = "30d"


@dataclass(frozen=True, slots=True)
class GivenPrometheus:
    """Values of these options as given."""

    url: str | None
    http_config: Path | None
    timeout: str | None
    end: datetime | None
    from_os_log_written: bool

    @property
    def is_anything(self) -> bool:
        """True if any of them was given."""
        return any((self.url, self.http_config, self.timeout, self.end, self.from_os_log_written))

    def open(self) -> Prometheus:
        """Return the Prometheus. Raise `InvalidInput` if the options name none."""
        from redolab.units import parse_duration
        from redolab.watch.monitoring.endpoint import Prometheus
        from redolab.watch.monitoring.http_config import read_http_config

        assert self.url is not None
        return Prometheus(self.url, read_http_config(self.http_config), parse_duration(self.timeout or "60s"))

    def span(self, seconds: str | None) -> Span:
        """Return the time span to look at: `seconds` in words, else 30 days. Raise `InvalidInput` if too short."""
        import time
        from datetime import UTC

        from redolab.errors import InvalidInput
        from redolab.units import parse_duration
        from redolab.watch.monitoring.servers import Span

        length = parse_duration(seconds or _LONG)
        if length < 10:
            raise InvalidInput("less than ten seconds tell no rate", "--for 30d, for instance")
        return Span(time.time() if self.end is None else self.end.replace(tzinfo=UTC).timestamp(), length)


prometheus_options = gathered(
    "monitored_by",
    GivenPrometheus,
    click.option(
        "--prometheus",
        "url",
        metavar="URL",
        help="A Prometheus, or what has its HTTP API: VictoriaMetrics, Thanos; of PMM https://HOST/prometheus.",
    ),
    click.option(
        "--http-config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Who asks, as promtool has it; else $PROMETHEUS_TOKEN, or $PROMETHEUS_USER and $PROMETHEUS_PASSWORD.",
    ),
    click.option("--timeout", metavar="TIME", help="How long a query may take.  [default: 60s]"),
    click.option(
        "--end",
        type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
        metavar="WHEN",
        help="End of the time that is looked at, as in 2026-11-28T06:00 (UTC).  [default: now]",
    ),
    click.option(
        "--from-os-log-written",
        is_flag=True,
        help="Where there is no LSN, take Innodb_os_log_written for an upper bound of the redo.",
    ),
)
"""Decorator that gives a command these options, which it receives together as its parameter `monitored_by`."""
