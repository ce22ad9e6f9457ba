"""A fleet for people and programs: a table, CSV and Parquet, and one HTML page that opens without a network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jinja2
import msgspec
import polars

from redolab.errors import InvalidInput
from redolab.machine.files import write_whole
from redolab.report.numbers import NONE
from redolab.report.table import SCREEN, Column, ReportTable, known
from redolab.units import format_chance, format_duration, format_duration_or_never, format_size
from redolab.watch.monitoring.fleet import FleetRow

_PAGE = Path(__file__).parent / "web/fleet.html"
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 960.0, 320.0, 60.0, 30.0
"""Size and margins of the picture, in pixels."""
_TICKS = (
    (1.0, "1 s"),
    (10.0, "10 s"),
    (60.0, "1 min"),
    (300.0, "5 min"),
    (1800.0, "30 min"),
    (7200.0, "2 h"),
    (43200.0, "12 h"),
)
"""Seconds, and how they are called."""
_NAMED = 5
"""Servers that the answer names."""
SUFFIXES = (".csv", ".parquet", ".html")
"""Suffixes of the files that can be written."""


def fleet_table(rows: Sequence[FleetRow], notes: Sequence[str], widest: int = SCREEN) -> ReportTable:
    """Return the table of a fleet in no more than `widest` characters; the files have the columns left out."""
    columns = [
        Column[FleetRow]("server", lambda row: row.server),
        Column[FleetRow]("version", lambda row: row.version.partition("-")[0], spare=True),
        Column[FleetRow]("pool", lambda row: known(row.buffer_pool, format_size), right=True, spare=True),
        Column[FleetRow](
            "peak redo an hour", lambda row: known(row.redo_per_hour, format_size), right=True, spare=True
        ),
        Column[FleetRow]("age, 95 %", lambda row: known(row.checkpoint_age_95, format_size), right=True, spare=True),
        Column[FleetRow]("now: typical, 95 %", lambda row: _times(row.now_s, row.now_95_s), right=True, spare=True),
        Column[FleetRow]("at random: typical, 95 %", lambda row: _times(row.usual_s, row.usual_95_s), right=True),
        Column[FleetRow](
            "at worst: typical, 95 %", lambda row: _times(row.worst_s, row.worst_95_s), right=True, spare=True
        ),
        Column[FleetRow]("too long", lambda row: known(row.chance_too_long, format_chance), right=True),
        Column[FleetRow]("redo log", lambda row: known(row.log_size, format_size), right=True),
        Column[FleetRow]("to set", lambda row: known(row.size, format_size), right=True),
        Column[FleetRow]("", lambda row: row.reason),
        *([Column[FleetRow]("change", lambda row: row.change)] if any(row.change for row in rows) else []),
        Column[FleetRow]("effect", lambda row: row.effect, spare=True),
    ]
    return ReportTable.brief(answer(rows), rows, columns, notes, widest)


def answer(rows: Sequence[FleetRow]) -> str:
    """Return the fleet in a sentence or two: the servers that are late, and those that would be if they crashed now."""
    late, unknown = (sum(row.meets_rto is each for row in rows) for each in (False, None))
    of_unknown = f"; of {unknown} it is not known" if unknown else ""
    found = f"{late} of {len(rows)} servers may take longer to recover than they should{of_unknown}."
    if all(row.now_95_s is None for row in rows):
        return found
    late_now = sorted((row for row in rows if row.is_late_now), key=lambda row: -(row.now_95_s or 0.0) / row.rto_s)
    if not late_now:
        return f"{found} If they crashed now, none would."
    some = ", ".join(row.server for row in late_now[:_NAMED])
    more = f" and {len(late_now) - _NAMED} more" if len(late_now) > _NAMED else ""
    return f"{found} If they crashed now, {len(late_now)} would: {some}{more}."


def write_fleet(path: Path, rows: Sequence[FleetRow], notes: Sequence[str]) -> None:
    """Write a fleet in the form that the file's name asks for. Raise `InvalidInput` for another name."""
    check_output(path)
    if path.suffix == ".html":
        write_whole(path, html_page(rows, notes).encode())
        return
    frame = polars.DataFrame([msgspec.to_builtins(row) for row in rows], infer_schema_length=None)
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)


def check_output(path: Path) -> None:
    """Raise `InvalidInput` for a file that cannot be written, before any query is made for it."""
    if path.suffix not in SUFFIXES:
        raise InvalidInput(f"a fleet cannot be written as {path.name}", f"its name ends in {', '.join(SUFFIXES)}")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"there is no folder {path.absolute().parent}", "make it, or write elsewhere")


def read_fleet(path: Path) -> dict[str, FleetRow]:
    """Return the rows of an earlier run by server, from its CSV or Parquet. Raise `InvalidInput` if it is neither."""
    try:
        frame = polars.read_parquet(path) if path.suffix == ".parquet" else polars.read_csv(path, infer_schema=False)
        filled = [
            {name: value for name, value in row.items() if value is not None} for row in frame.iter_rows(named=True)
        ]
        rows = msgspec.convert(filled, list[FleetRow], strict=False)
    except (OSError, polars.exceptions.PolarsError, msgspec.ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInput(
            f"{path} is no fleet ({reason})", "give what 'redolab fleet -o FILE.csv' or .parquet wrote"
        ) from None
    return {row.server: row for row in rows}


def html_page(rows: Sequence[FleetRow], notes: Sequence[str]) -> str:
    """Return the page: the picture, and the table, which sorts by a click on a heading."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=True)
    return environment.from_string(_PAGE.read_text()).render(
        answer=answer(rows),
        notes=notes,
        bars=_bars([row for row in rows if row.bound_s is not None]),
        ticks=[(_y(seconds), name) for seconds, name in _TICKS],
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        headings=list(_cells(rows[0])) if rows else [],
        rows=[(row.meets_rto, list(_cells(row).values())) for row in rows],
    )


def _cells(row: FleetRow) -> Mapping[str, tuple[str, float | str]]:
    """Return, for each heading, the text of the cell and its sort key."""

    def number(value: float | None, words: Callable[[float], str]) -> tuple[str, float | str]:
        # JavaScript has no literal for infinity: a number that it can hold, and larger than any other here.
        return known(value, words), -1.0 if value is None else min(value, 1e300)

    return {
        "server": (row.server, row.server),
        "version": (row.version, row.version),
        "storage": (row.storage, row.storage),
        "pool": number(row.buffer_pool, format_size),
        "redo log": number(row.log_size, format_size),
        "peak redo an hour": number(row.redo_per_hour, format_size),
        "checkpoint age, 95 %": number(row.checkpoint_age_95, format_size),
        "now, typical": number(row.now_s, format_duration_or_never),
        "now, 95 %": number(row.now_95_s, format_duration_or_never),
        "at random, typical": number(row.usual_s, format_duration_or_never),
        "at random, 95 %": number(row.usual_95_s, format_duration_or_never),
        "at worst, typical": number(row.worst_s, format_duration_or_never),
        "at worst, 95 %": number(row.worst_95_s, format_duration_or_never),
        "over": number(row.rto_s, format_duration),
        "chance": number(row.chance_too_long, format_chance),
        "in time": (_yes_or_no(row.meets_rto), _yes_or_no(row.meets_rto)),
        "to set": number(row.size, format_size),
        "why": (row.reason, row.reason),
        "effect": (row.effect, row.effect),
        "to know": (row.warnings, row.warnings),
        "change": (row.change, row.change),
    }


def _bars(rows: Sequence[FleetRow]) -> list[Mapping[str, float | str]]:
    """Return each server in the picture: from the typical recovery to its upper bound, in pixels."""
    wide = (_WIDTH - _LEFT) / max(1, len(rows))
    return [_bar(row, _LEFT + (place + 0.5) * wide) for place, row in enumerate(rows)]


def _bar(row: FleetRow, x: float) -> Mapping[str, float | str]:
    typical = row.worst_s if row.usual_s is None else row.usual_s
    assert row.bound_s is not None
    return {
        "x": x,
        "typical": _y(typical or 1.0),
        "bound": _y(row.bound_s),
        "rto": _y(row.rto_s),
        "kind": "fine" if row.meets_rto else "late",
        "title": f"{row.server}: {_times(typical, row.bound_s)}; {row.reason}",
    }


def _y(seconds: float) -> float:
    """Return where a time is drawn, on a logarithmic scale from the first tick to the last."""
    least, most = math.log(_TICKS[0][0]), math.log(_TICKS[-1][0])
    share = (math.log(min(max(seconds, 1e-9), 1e9)) - least) / (most - least)
    return _HEIGHT - _BOTTOM - min(1.0, max(0.0, share)) * (_HEIGHT - 2 * _BOTTOM)


def _times(typical: float | None, bound: float | None) -> str:
    return NONE if typical is None else ", ".join(known(each, format_duration_or_never) for each in (typical, bound))


def _yes_or_no(is_so: bool | None) -> str:
    return NONE if is_so is None else "yes" if is_so else "no"
