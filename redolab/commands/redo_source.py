"""Sources of a server's redo for `size`: samples, a server that is sampled, a Prometheus, or a given figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from redolab.commands.address import GivenServer, address_options
from redolab.commands.given_question import UNKNOWN, KnownServer
from redolab.commands.prometheus import GivenPrometheus, prometheus_options
from redolab.commands.shared_options import gathered

if TYPE_CHECKING:
    from rich.console import Console

    from redolab.predict.demand import Demand


@dataclass(frozen=True, slots=True)
class RedoSource:
    """A source, with the server's figures that it knows; None for the others."""

    demand: Callable[[Console], Demand]
    """Function that returns the demand, and shows its progress on a console. Raises `LabError`."""
    known: KnownServer = UNKNOWN
    dirty_pages: int | None = None
    """Most pages that were seen."""
    log_size: int | None = None
    """Present size in bytes."""
    os_log_written_hours: float | None = None
    """Bytes that 94 % of the hours of seven days stay below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRedo:
    """Values of the options that name a source, as given."""

    samples: Sequence[Path]
    redo_per_hour: str | None
    server_at: GivenServer
    monitored_by: GivenPrometheus
    instance: str | None
    """Name of a server that the Prometheus knows."""
    seconds: str | None
    """Time to sample, or to look back, as given."""

    def check(self, *, is_described: bool) -> None:
        """Raise `UsageError` unless one source is named. `is_described`: the options give both version and pool."""
        is_monitored = self.monitored_by.url is not None
        named = [bool(self.samples), self.redo_per_hour is not None, self.server_at.is_named, is_monitored]
        if named.count(True) != 1:
            raise click.UsageError(
                "give --samples FILE, --redo-per-hour SIZE, a server to sample as in --socket PATH, or --prometheus URL"
            )
        tells_itself = self.server_at.is_named or is_monitored
        if not tells_itself and not is_described:
            raise click.UsageError(
                "give --server NAME and --pool SIZE: only a server that is sampled or monitored tells them itself"
            )
        if not tells_itself and (self.server_at.is_anything or self.seconds is not None):
            raise click.UsageError(
                "--port, --user, --ask-password and --for are of a server that is sampled: name it, as in --host NAME"
            )
        if is_monitored and (self.instance is None or self.server_at.is_anything):
            raise click.UsageError("give --prometheus URL with --instance NAME, and no address of a server")
        if not is_monitored and (self.instance is not None or self.monitored_by.is_anything):
            raise click.UsageError("--instance and the options of a Prometheus go with --prometheus URL")

    def source(self, *, with_hours: bool = False) -> RedoSource:
        """Return the source, with the figures it knows at once. Raise `LabError` if it cannot be asked.

        `with_hours`: also look up the redo of the hours of a week, which one of the published rules uses.
        """
        from redolab.predict.demand import Demand, demand_of_files
        from redolab.units import parse_size

        if self.server_at.is_named:
            return self._sampled()
        if self.instance is not None:
            return self._monitored(self.instance, with_hours=with_hours)
        if self.samples:
            return RedoSource(lambda _: demand_of_files(self.samples))
        given = Demand(redo_per_hour=float(parse_size(self.redo_per_hour or "")), source="as given")
        return RedoSource(lambda _: given)

    def _sampled(self) -> RedoSource:
        from redolab.counters.live.sampled_server import LiveServer
        from redolab.counters.live.sampling import sample_live
        from redolab.predict.demand import demand_of_samples
        from redolab.servers.dialects import server_name_of
        from redolab.servers.redo_counters import Sample
        from redolab.units import parse_duration

        seconds, address = parse_duration(self.seconds or "2m"), self.server_at.address()
        server = LiveServer(address)
        server.close()

        def demand(shown: Console) -> Demand:
            samples = list[Sample]()
            sample_live(shown, address, 1.0, seconds, record=samples.append)
            return demand_of_samples(samples, str(address))

        return RedoSource(
            demand,
            KnownServer(
                server=server_name_of(server.version),
                pool=server.buffer_pool,
                binary_log=server.binary_log,
                read_threads=server.read_threads,
            ),
            log_size=server.log_size,
        )

    def _monitored(self, name: str, *, with_hours: bool) -> RedoSource:
        from redolab.watch.monitoring.demand import demand_of_monitored, log_size_of
        from redolab.watch.monitoring.servers import matchers_of, os_log_written_hours, servers_of

        prometheus, span = self.monitored_by.open(), self.monitored_by.span(self.seconds)
        bound = self.monitored_by.from_os_log_written
        matchers = matchers_of(prometheus, name, span.end)
        (monitored,) = servers_of(prometheus, matchers, span, by_os_log_written=bound)
        return RedoSource(
            lambda _: demand_of_monitored(monitored, span, from_os_log_written=bound),
            KnownServer(
                server=monitored.server,
                pool=monitored.pool,
                tables=monitored.tables,
                binary_log=monitored.binary_log,
                read_threads=monitored.read_threads,
            ),
            dirty_pages=monitored.dirty_pages,
            log_size=log_size_of(monitored),
            os_log_written_hours=os_log_written_hours(prometheus, matchers, span.end) if with_hours else None,
        )


redo_options = gathered(
    "redo",
    GivenRedo,
    click.option(
        "--samples",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="What 'redolab sample -o' wrote, or a table.",
    ),
    click.option(
        "--redo-per-hour", metavar="SIZE", help="Redo of the busiest hour by LSN, as in 2.7G, instead of samples."
    ),
    address_options,
    prometheus_options,
    click.option(
        "--instance", metavar="NAME", help="Which server of the Prometheus: its instance, or its service name in PMM."
    ),
    click.option(
        "--for",
        "seconds",
        metavar="TIME",
        help="How long to sample a server, or how far to look back in Prometheus.  [default: 2m, 30d]",
    ),
)
"""Decorator that gives a command these options, which it receives together as its parameter `redo`."""
