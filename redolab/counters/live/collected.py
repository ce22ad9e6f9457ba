"""Samples from files that users already have: output of mysqladmin or pt-stalk, tables with a time and a counter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from pathlib import Path

import polars

from redolab.counters.live.readings import counters_of_status
from redolab.errors import InvalidInput
from redolab.servers.redo_counters import Sample

_PAIR = re.compile(r"^\|?\s*([A-Za-z]\w*)\s*[|\t]\s*(\S.*?)\s*\|?$")
_HEADING = "variable_name"
_COLUMNS: Mapping[str, Sequence[str]] = {
    "time": ("time", "timestamp", "ts", "datetime", "date", "wall", "epoch", "unixtime", "unix_time", "clock"),
    "lsn": ("lsn", "lsn_current", "log_lsn_current", "current_lsn", "log_sequence_number", "innodb_lsn_current",
            "innodb_redo_log_current_lsn"),
    "os_log_written": ("os_log_written", "innodb_os_log_written", "os_log_bytes_written"),
    "log_writes": ("log_writes", "innodb_log_writes"),
    "checkpoint_lsn": ("checkpoint_lsn", "innodb_lsn_last_checkpoint", "innodb_redo_log_checkpoint_lsn"),
    "checkpoint_age": ("checkpoint_age", "innodb_checkpoint_age", "log_lsn_checkpoint_age"),
    "uptime": ("uptime",),
}  # fmt: skip
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""Least number in a smaller unit: milliseconds from 1e11 (the year 5138 in seconds), then micro-, nanoseconds."""
_SOME = 2
"""Fewest later tables: the Uptime of a single short one can be that of a restarted server."""


def read_collected(path: Path) -> list[Sample]:
    """Return the samples in a file of any of these formats. Raises `InvalidInput` naming the fault."""
    try:
        if path.suffix.lower() == ".parquet":
            return _of_table(path, polars.read_parquet(path))
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {path}") from None
    except polars.exceptions.PolarsError as error:
        raise InvalidInput(f"{path} cannot be read as Parquet ({str(error).splitlines()[0]})") from None
    if any(_HEADING in line.lower() or line.startswith("| Innodb_") for line in text.splitlines()[:2000]):
        return _of_mysqladmin(path, text)
    return _of_table(path, _csv(path, text))


def _of_mysqladmin(path: Path, text: str) -> list[Sample]:
    """Return the tables of `mysqladmin extended-status`, timed by the Uptime in each."""
    found = [counters_of_status(list(table.items())) for table in _tables(text)]
    samples = [
        Sample(monotonic=float(each.uptime), wall=None, **asdict(each)) for each in found if each.uptime is not None
    ]
    if not samples:
        raise InvalidInput(
            f"{path} has no table of status variables with an Uptime", "mysqladmin extended-status writes them"
        )
    return _absolute(samples)


def _tables(text: str) -> Iterator[dict[str, str]]:
    table: dict[str, str] = {}
    for line in text.splitlines():
        match = _PAIR.match(line)
        if match is None:
            continue
        name = match[1].lower()
        if name == _HEADING or name in table:
            if table:
                yield table
            table = {}
        if name != _HEADING:
            table[name] = match[2]
    if table:
        yield table


def _absolute(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples as totals: with `--relative` every table but the first holds differences."""
    if not _are_relative(samples[0], samples[1:]):
        return list(samples)
    totals = [samples[0]]
    for sample in samples[1:]:
        before = totals[-1]
        grown = {
            name: was + now
            for name in ("lsn", "os_log_written", "log_writes", "log_write_requests", "flushed_lsn", "checkpoint_lsn",
                         "checkpoint_age", "uptime")
            if (was := getattr(before, name)) is not None and (now := getattr(sample, name)) is not None
        }  # fmt: skip
        totals.append(replace(before, monotonic=float(grown["uptime"]), **grown))
    return totals


def _are_relative(first: Sample, later: Sequence[Sample]) -> bool:
    """Return True if the later samples hold differences: constants are 0 in them, or their Uptimes are about equal."""
    constant = [sample.page_size for sample in later if sample.page_size is not None]
    if constant:
        return 0 in constant
    uptimes = [sample.uptime or 0 for sample in later]
    if len(uptimes) < _SOME or min(uptimes) == 0:
        return False
    return (first.uptime or 0) > max(uptimes) and max(uptimes) <= 2 * min(uptimes) + 1


def _csv(path: Path, text: str) -> polars.DataFrame:
    first = text.split("\n", 1)[0]
    separator = max(",;\t", key=first.count)
    try:
        return polars.read_csv(text.encode(), separator=separator, infer_schema=False, truncate_ragged_lines=True)
    except polars.exceptions.PolarsError as error:
        raise InvalidInput(f"{path} cannot be read as CSV ({str(error).splitlines()[0]})") from None


def _of_table(path: Path, frame: polars.DataFrame) -> list[Sample]:
    """Return rows with a time and an LSN or an os_log_written, in order of time; those without either are left out."""
    names = {name.strip().lower(): name for name in frame.columns}
    if {"monotonic", "wall"} <= set(names):
        return _of_own(path, frame)
    found = {meaning: names[each] for meaning, known in _COLUMNS.items() for each in reversed(known) if each in names}
    if "time" not in found or not {"lsn", "os_log_written"} & set(found):
        raise InvalidInput(
            f"{path} has the columns {', '.join(frame.columns) or 'none'}",
            "it needs one with a time (as 'time') and one with an LSN (as 'lsn') or an os_log_written",
        )
    samples = []
    for number, row in enumerate(frame.iter_rows(named=True), start=2):
        values = {meaning: row[column] for meaning, column in found.items() if row[column] not in (None, "")}
        if "time" not in values or not {"lsn", "os_log_written"} & set(values):
            continue
        try:
            wall = _seconds(values.pop("time"))
            samples.append(
                Sample(monotonic=wall, wall=wall, **{key: int(float(value)) for key, value in values.items()})
            )
        except (ValueError, OverflowError) as error:
            raise InvalidInput(f"{path}, line {number}: {error}") from None
    if not samples:
        raise InvalidInput(f"{path} has no row with a time and a counter")
    return sorted((sample.with_age() for sample in samples), key=lambda each: each.monotonic)


def _of_own(path: Path, frame: polars.DataFrame) -> list[Sample]:
    """Return the samples of `redolab sample -o`, from one or several such files in one.

    The last row may be cut off, which is seen by its missing times, the last columns.
    """
    known = {field.name for field in fields(Sample)}
    samples = []
    for number, row in enumerate(frame.iter_rows(named=True), start=2):
        values = {name: value for name, value in row.items() if name in known and value not in (None, "")}
        is_heading = all(name == value for name, value in values.items())
        is_cut_off = number == len(frame) + 1 and "wall" not in values
        if is_heading or is_cut_off:
            continue
        try:
            clocks = {name: float(values.pop(name)) for name in ("monotonic", "wall") if name in values}
            counters = {name: int(value) for name, value in values.items()}
            samples.append(Sample(monotonic=clocks["monotonic"], wall=clocks.get("wall"), **counters))
        except (KeyError, ValueError):
            raise InvalidInput(
                f"{path}, line {number}: no sample", "redolab sample -o wrote it otherwise: take that line out"
            ) from None
    return samples


def _seconds(value: object) -> float:
    """Return the seconds since 1970 of a time in a table; without a zone it is taken as UTC. Raises `ValueError`."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        moment = datetime.fromisoformat(text.replace("/", "-"))
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    seconds = number / next((unit for least, unit in _UNITS if number > least), 1)
    datetime.fromtimestamp(seconds, UTC)
    return seconds
