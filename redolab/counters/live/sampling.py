"""`redolab sample`: watch a server's redo rates, or compute them from collected files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.live import Live

from redolab.counters.live.collected import read_collected
from redolab.counters.live.sample_view import HEADINGS, LiveMoment, line, live_table, summary
from redolab.counters.live.sampled_server import LiveServer
from redolab.counters.sampler import SampleFile
from redolab.counters.series import Series, gap_after, series_of
from redolab.errors import Interrupted, InvalidInput
from redolab.machine.interrupts import unwinding
from redolab.report.table import ReportTable, print_lines
from redolab.servers.address import Address
from redolab.servers.redo_counters import Sample
from redolab.units import format_duration

SHORTEST, LONGEST = 0.1, 3600.0
_SETTINGS_EVERY = 60.0
_ENDINGS = (".csv", ".parquet")


def sample_live(
    console: Console,
    address: Address,
    every: float,
    seconds: float | None,
    output: Path | None = None,
    record: Callable[[Sample], None] = lambda _: None,
) -> Series:
    """Sample a server until `seconds` have passed or it is stopped, then show the summary. Raises `LabError`.

    `record` gets each sample: the series has only what it sums up, as sampling may go on for weeks.
    """
    if not SHORTEST <= every <= LONGEST:
        raise InvalidInput(f"a sample every {every:g} s is not possible", f"choose {SHORTEST}s to {LONGEST:.0f}s")
    if output is not None:
        _check_output(output)
    address.check()
    server = LiveServer(address)
    print_lines(console, *server.in_words())
    series = Series(gap_after(every))
    try:
        with kept_in(output) as file, unwinding(), suppress(Interrupted), _view(console, str(address)) as show:
            for event in _watch(server, series, every, seconds):
                if isinstance(event, LiveMoment):
                    record(event.sample)
                    if file is not None:
                        file.append(event.sample)
                show(event)
    finally:
        server.close()
    console.print()
    summary(series).show(console)
    if output is not None:
        print_lines(console, f"the samples are in {output}")
    return series


def sample_files(paths: Sequence[Path]) -> list[tuple[Path, ReportTable]]:
    """Return a summary of the samples in each file. Raises `InvalidInput`."""
    return [(path, summary(series_of(read_collected(path)))) for path in paths]


def _check_output(path: Path) -> None:
    """Refuse a path where samples cannot be written, or that already exists. Raises `InvalidInput`."""
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidInput(f"{path} ends neither in .csv nor in .parquet", "its ending says how to write it")
    if path.exists():
        raise InvalidInput(f"{path} is there already", "nothing is overwritten: choose another name, or remove it")
    if (partial := _partial(path)).exists():
        raise InvalidInput(
            f"{partial} is there already",
            "it has the samples of a run that was killed, or runs still: choose another name, or move it away",
        )
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent}", "make it, or choose another")


@contextmanager
def kept_in(path: Path | None) -> Iterator[SampleFile | None]:
    """Open the output for samples; each is on disk as it comes, even if the file becomes Parquet at the end."""
    if path is None:
        yield None
        return
    if path.suffix.lower() == ".csv":
        with closing(SampleFile(path)) as file:
            yield file
        return
    partial = _partial(path)
    try:
        with closing(SampleFile(partial)) as file:
            yield file
    finally:
        import polars

        polars.read_csv(partial, infer_schema_length=None).write_parquet(path)
        partial.unlink()


def _partial(path: Path) -> Path:
    """Return the path of the samples that become a Parquet file at the end."""
    return path.with_name(f"{path.name}.partial.csv")


def _watch(server: LiveServer, series: Series, every: float, seconds: float | None) -> Iterator[LiveMoment | str]:
    """Yield a server's samples, and in words that its connection was lost, came back, or that it was restarted."""
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
                yield "the connection is lost; it is tried again with every sample"
            continue
        if lost_at is not None:
            yield f"connected again after {format_duration(time.monotonic() - lost_at)}"
            lost_at = None
        known = len(series.segments)
        interval = series.add(sample)
        if known and len(series.segments) > known:
            yield "the server was restarted: a new segment begins, and no rate is computed across it"
        yield LiveMoment(sample, interval, series.segments[-1])


@contextmanager
def _view(console: Console, title: str) -> Iterator[Callable[[LiveMoment | str], None]]:
    """Provide a function that shows a sample: on a terminal in the place of the one before, elsewhere as a line."""
    if not console.is_terminal:
        print_lines(console, HEADINGS)

        def show_line(moment: LiveMoment | str) -> None:
            print_lines(console, moment if isinstance(moment, str) else line(moment))

        yield show_line
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show(moment: LiveMoment | str) -> None:
            if isinstance(moment, str):
                live.console.print(moment, highlight=False, markup=False)
            else:
                live.update(live_table(moment, title), refresh=True)

        yield show
