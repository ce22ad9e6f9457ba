"""Table of the records in a chunk of a slow query log, made a column at a time.

A record is the text between two `# User@Host` lines, with the `# Time` of the next one at its end. All servers agree
on that, from 5.0 to MySQL 9.7 and MariaDB 12: versions only add lines that begin with `#`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from redolab.slowlog.digest.chunks import OPENING, RECORD, Chunk, without_server_lines
from redolab.slowlog.digest.classes import Skipped
from redolab.slowlog.digest.fingerprints import ADMINISTRATOR
from redolab.slowlog.digest.stamps import MICROSECONDS, microseconds, moments

_ENCODING = "latin-1"
_SPLIT = RECORD.decode()
_TIME = "\n# Time: "
# A line of a statement may begin so too, but then ends in its `;`.
_LAST_STAMP = r"\n# Time: ?[^\n;]*\z"
_STAMPS_BEFORE = r"(\A|;)\n*(?:\n# Time: ?[^\n;]*)+\z"
_HEADER = (
    r"\A[^\n]*\n(?:#[^\n]*(?:\n|\z))*(?:use [^\n]*;\n)?"
    r"(?:SET (?:timestamp|insert_id|last_insert_id)=[^\n]*;\n)?(?:#[^\n]*(?:\n|\z))*"
)
_ADMINISTRATOR = r"\n# (administrator command: [^\n]*?);?\n?\z"
# \d would match Unicode digits, and take three times as long.
_FIGURES = (
    r"Query_time: ([0-9]+(?:\.[0-9]+)?) +Lock_time: ([0-9]+(?:\.[0-9]+)?) +Rows_sent: ([0-9]+) +Rows_examined: ([0-9]+)"
)
_USE = r"\nuse ([^\n]*);\n"
# \s would match Unicode blanks, to which a byte of a UTF-8 name can belong.
_SCHEMA = r"# (?:Thread_id: [0-9]+ +)?Schema: ([^ \t\n:]+)[ \n]"
_EPOCH = r"\nSET [^\n]*timestamp=([0-9]+)"
# A file that ends in the middle of the lines before a statement.
_UNFINISHED = re.compile(rb"(?<=;\n)(?:#|/|[A-Z]:|[Tt][Cc][Pp] |Time[ \t])[^\n]*\Z")
# MySQL has logged clocks that were set back as times of 2**64 microseconds.
MOST_SECONDS = 1e9
_ALL = 1 << 40


@dataclass(frozen=True, slots=True)
class Window:
    """Range of time stamps, from `since` up to but without `until`; in UTC if they have an offset, else as stamped."""

    since: datetime | None = None
    until: datetime | None = None

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None

    @property
    def has_offset(self) -> bool:
        """Return True if the limits are in UTC."""
        return any(moment is not None and moment.tzinfo is not None for moment in (self.since, self.until))


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a chunk.

    `table`: `text` without the server's `;`, `bytes` of it, `us` of query time, `lock_us`, `sent`, `examined`,
    `database`, `at` and `zoned` (`redolab.slowlog.digest.stamps`), `row` in the log's order. Texts have one character
    for each byte of the log (`as_bytes`). `last_database`: the last that the chunk names.
    """

    table: pl.DataFrame
    skipped: Skipped
    last_database: str | None


def as_bytes(text: str) -> bytes:
    """Return the bytes in the log of a text of `Records`."""
    return text.encode(_ENCODING)


def as_text(logged: bytes) -> str:
    """Return bytes of the log as a person reads them."""
    return logged.decode("utf-8", "replace")


def records(chunk: Chunk, window: Window) -> Records:
    """Return the records of a chunk that end within the window."""
    content, cut_off = chunk.content, 0
    if content.startswith(b"\r\n", content.find(b"\n") - 1):
        content = content.replace(b"\r\n", b"\n")
    if chunk.first:
        content = without_server_lines(content)
    if chunk.last and (unfinished := _UNFINISHED.search(content)) and RECORD not in content[unfinished.start() - 1 :]:
        cut_off += content.startswith(b"#", unfinished.start())
        content = content[: unfinished.start()]
    frame = _split(b"\n" + content)
    # To look for the server's lines everywhere takes longer than to split.
    if not _all_end(frame) and OPENING in content:
        frame = _split(b"\n" + without_server_lines(content))
    before = frame["piece"][0].lstrip("\n")
    frame = _whole(_with_own_stamps(frame, chunk.stamp.decode("ascii", "replace")))
    complete = frame.filter(pl.col("piece").str.ends_with(";"))
    cut_off += frame.height - complete.height + bool(before)
    table = _columns(complete, with_epoch=window.has_offset)
    timed = table.filter(pl.col("us").is_not_null())
    # Before rows go: a statement is of the database that the last line before it names.
    inside = timed.with_columns(pl.col("database").forward_fill()).filter(_within(window)) if window else timed
    return Records(
        table=inside.drop("epoch"),
        skipped=Skipped(
            outside=timed.height - inside.height,
            cut_off=cut_off,
            without_time=table.height - timed.height,
            bytes=len(before),
        ),
        last_database=table["database"].drop_nulls().tail(1).item() if table["database"].count() else None,
    )


def _split(content: bytes) -> pl.DataFrame:
    """Split at the first line of each record. Return the pieces, and the stamps at the end of each `piece`.

    `stamp`: the last stamp that is not empty; `ends`: True if a record ends here, and the next line begins one.
    """
    # Statements hold binary strings, and text in any encoding. With one character a byte, and no other encoding for
    # chunks that are UTF-8, a statement has one class wherever a chunk ends.
    as_characters = content.decode(_ENCODING).encode()
    pieces = pl.Series("piece", as_characters.split(RECORD), dtype=pl.Binary).cast(pl.String)
    frame = pieces.str.strip_chars_end("\n \t").to_frame()
    frame = frame.with_columns(length=pl.col("piece").str.find(_LAST_STAMP).cast(pl.Int64)).select(
        piece=_sliced("piece", pl.lit(0, pl.Int64), pl.col("length").fill_null(_ALL)),
        stamp=pl.when(pl.col("length").is_not_null()).then(
            _sliced("piece", pl.col("length") + len(_TIME), pl.lit(_ALL))
        ),
    )
    if not _all_end(frame):
        frame = frame.with_columns(pl.col("piece").str.replace(_STAMPS_BEFORE, "$1"))
    return frame.with_columns(ends=pl.col("stamp").is_not_null() | pl.col("piece").str.ends_with(";"))


def _all_end(frame: pl.DataFrame) -> bool:
    return bool((frame["piece"].str.ends_with(";") | (frame["piece"] == "")).all())


def _sliced(column: str, offset: pl.Expr, length: pl.Expr) -> pl.Expr:
    # By bytes: to count characters would mean to go through them.
    return pl.col(column).cast(pl.Binary).bin.slice(offset, length).cast(pl.String)


def _with_own_stamps(frame: pl.DataFrame, stamp: str) -> pl.DataFrame:
    """Return the pieces that are records, each with the stamp before it, else with that of the preceding record."""
    own = frame.select(
        "piece",
        stamp=pl.col("stamp").shift(1),
        begins=pl.col("ends").shift(1),
    ).slice(1)
    at = moments(pl.concat([pl.Series("stamp", [stamp or None], dtype=pl.String), own["stamp"]]))
    return own.drop("stamp").hstack(at.select(pl.all().forward_fill()).slice(1))


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Join the pieces of records whose statement quotes a slow query log."""
    if frame["begins"].slice(1).all():
        return frame.drop("begins")
    number = pl.col("begins").cum_sum() - pl.col("begins").first().cast(pl.UInt32)
    return (
        frame.group_by(number.alias("number"), maintain_order=True)
        .agg(pl.col("piece").str.join(_SPLIT), pl.col("at").first(), pl.col("zoned").first())
        .drop("number")
    )


def _columns(frame: pl.DataFrame, with_epoch: bool) -> pl.DataFrame:
    frame = frame.with_columns(header=pl.col("piece").str.extract(_HEADER, 0)).with_columns(
        text=_sliced("piece", pl.col("header").str.len_bytes().cast(pl.Int64), pl.lit(_ALL)).str.strip_suffix(";"),
    )
    # An administrator's command has no text but one of the header's lines.
    text = pl.when(pl.col("text") == "").then(pl.coalesce(pl.col("header").str.extract(_ADMINISTRATOR), "text"))
    figures = pl.col("header").str.extract_groups(_FIGURES)
    frame = frame.with_columns(text=text.otherwise("text"), figures=figures)
    return frame.select(
        "text",
        _figure("us", 0).mul(MICROSECONDS).round().cast(pl.Int64, strict=False),
        _figure("lock_us", 1).mul(MICROSECONDS).round().cast(pl.Int64, strict=False),
        _rows("sent", 2),
        _rows("examined", 3),
        pl.coalesce(_unquoted(pl.col("header").str.extract(_USE)), pl.col("header").str.extract(_SCHEMA)).alias(
            "database"
        ),
        "at",
        "zoned",
        epoch=pl.col("header").str.extract(_EPOCH).cast(pl.Int64, strict=False)
        if with_epoch
        else pl.lit(None, pl.Int64),
        bytes=pl.col("text").str.len_chars().cast(pl.Int64),
        row=pl.int_range(pl.len(), dtype=pl.UInt32),
    )


def _unquoted(name: pl.Expr) -> pl.Expr:
    """Return an identifier without the backticks that MariaDB 10.5 and later write around it."""
    inside = name.str.extract(r"\A`(.*)`\z").str.replace_all("``", "`", literal=True)
    return pl.coalesce(inside, name)


def _figure(name: str, place: int) -> pl.Expr:
    """Return a number of the header; null if it is impossible."""
    value = pl.col("figures").struct[place].cast(pl.Float64, strict=False)
    return pl.when(value < MOST_SECONDS if name.endswith("us") else pl.lit(True)).then(value).alias(name)


def _rows(name: str, place: int) -> pl.Expr:
    # With an administrator's command servers log the rows of the statement before it, as if it had read them.
    is_command = pl.col("text").str.starts_with(ADMINISTRATOR.decode())
    return pl.when(is_command).then(0).otherwise(_figure(name, place).cast(pl.Int64, strict=False)).alias(name)


def _within(window: Window) -> pl.Expr:
    inside = pl.lit(True)
    if window.since is not None:
        inside &= _moment(window.since) >= microseconds(window.since)
    if window.until is not None:
        inside &= _moment(window.until) < microseconds(window.until)
    return inside.fill_null(False)


def _moment(limit: datetime) -> pl.Expr:
    if limit.tzinfo is None:
        return pl.col("at")
    return pl.when("zoned").then("at").otherwise(pl.col("epoch") * MICROSECONDS)
