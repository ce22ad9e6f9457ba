"""`redolab sample`: watch a server's redo rates, or compute them from collected files."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.live import Live

from redolab.counters.live.collected import read_collected
from redolab.counters.live.output import check_output, kept_in
from redolab.counters.live.server import LiveServer
from redolab.counters.live.view import LiveMoment, heading, line, live_table, summary
from redolab.counters.series import Series, gap_after, series_of
from redolab.errors import InvalidInput
from redolab.report.table import ReportTable
from redolab.servers.address import Address
from redolab.servers.redo_counters import Sample
from redolab.units import format_duration

SHORTEST, LONGEST = 0.1, 3600.0
_SETTINGS_EVERY = 60.0


def sample_live(
    console: Console, address: Address, every: float, seconds: float | None, output: Path | None
) -> list[Sample]:
    """Sample a server until `seconds` have passed or it is stopped, then show the summary. Raises `LabError`."""
    if not SHORTEST <= every <= LONGEST:
        raise InvalidInput(f"a sample every {every:g} s is not possible", f"choose {SHORTEST}s to {LONGEST:.0f}s")
    if output is not None:
        check_output(output)
    address.check()
    server = LiveServer(address)
    for said in server.in_words():
        console.print(said, highlight=False, markup=False, soft_wrap=True)
    series, samples = Series(gap_after(every)), list[Sample]()
    try:
        with kept_in(output) as file, _stoppable(), suppress(KeyboardInterrupt), _view(console, str(address)) as show:

            def keep(sample: Sample) -> None:
                samples.append(sample)
                if file is not None:
                    file.append(sample)

            _watch(server, series, every, seconds, keep, show)
    finally:
        server.close()
    console.print()
    summary(series).show(console)
    if output is not None:
        console.print(f"the samples are in {output}", highlight=False, markup=False, soft_wrap=True)
    return samples


def sample_files(paths: Sequence[Path]) -> list[tuple[Path, ReportTable]]:
    """Return a summary of the samples in each file. Raises `InvalidInput`."""
    return [(path, summary(series_of(read_collected(path)))) for path in paths]


def _watch(
    server: LiveServer,
    series: Series,
    every: float,
    seconds: float | None,
    keep: Callable[[Sample], None],
    show: Callable[[LiveMoment | str], None],
) -> None:
    began = due = time.monotonic()
    lost_at: float | None = None
    settings_due = began + _SETTINGS_EVERY
    while seconds is None or due <= began + seconds:
        time.sleep(max(0.0, due - time.monotonic()))
        # Count from fixed times, and skip those that a slow answer missed.
        due += every * max(1, -(-(time.monotonic() - due) // every))
        if time.monotonic() >= settings_due:
            # The log of a running server can be resized.
            server.read_settings()
            settings_due = time.monotonic() + _SETTINGS_EVERY
        sample = server.sample()
        if sample is None:
            if lost_at is None:
                lost_at = time.monotonic()
                show("the connection is lost; it is tried again with every sample")
            continue
        if lost_at is not None:
            show(f"connected again after {format_duration(time.monotonic() - lost_at)}")
            lost_at = None
        keep(sample)
        known = len(series.segments)
        interval = series.add(sample)
        if known and len(series.segments) > known:
            show("the server was restarted: a new segment begins, and no rate is computed across it")
        show(LiveMoment(sample, interval, series.segments[-1]))


@contextmanager
def _view(console: Console, title: str) -> Iterator[Callable[[LiveMoment | str], None]]:
    """Provide a function that shows a sample: on a terminal in the place of the one before, elsewhere as a line."""
    if not console.is_terminal:
        console.print(heading(), highlight=False, markup=False, soft_wrap=True)

        def show_line(moment: LiveMoment | str) -> None:
            said = moment if isinstance(moment, str) else line(moment)
            console.print(said, highlight=False, markup=False, soft_wrap=True)

        yield show_line
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show(moment: LiveMoment | str) -> None:
            if isinstance(moment, str):
                live.console.print(moment, highlight=False, markup=False)
            else:
                live.update(live_table(moment, title), refresh=True)

        yield show


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP stop the block as Ctrl-C does."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
