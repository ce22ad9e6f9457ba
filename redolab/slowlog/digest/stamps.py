"""Times of records: the forms in which servers stamp them, and microseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

_ZONE = r"(?:(Z)|([+-])(\d\d):?(\d\d))\z"
_OLD = r"\A(\d{2})(\d{2})(\d{2})\s+(\d{1,2}):(\d{2}):(\d{2})"
MICROSECONDS = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moments(stamps: pl.Series) -> pl.DataFrame:
    """Parse stamps into `at`, microseconds since 1970, in UTC if `zoned`, else in the stamp's unnamed local time.

    Both are null if a stamp is no possible date and time. Forms: `2016-05-30T18:19:03.990000Z` and with an offset
    (MySQL 5.7 and later), `101220 21:54:31` and `101221 0:00:58` (5.6 and older, MariaDB).
    """
    stamp = pl.col("stamp")
    frame = stamps.alias("stamp").to_frame()
    if (stamps.str.ends_with("Z") | stamps.is_null()).all():
        return frame.select(at=_in_utc()).with_columns(zoned=pl.col("at").is_not_null())
    iso = (stamp.str.slice(0, 10) + " " + stamp.str.slice(11)).str.replace(_ZONE, "")
    zone = stamp.str.extract_groups(_ZONE)
    minutes = zone.struct[2].cast(pl.Int64) * 60 + zone.struct[3].cast(pl.Int64)
    east = pl.when(zone.struct[1] == "-").then(-minutes).otherwise(minutes).fill_null(0)
    old = stamp.str.extract_groups(_OLD)
    digits = pl.concat_str([old.struct[place].str.zfill(2) for place in range(6)])
    at = pl.coalesce(
        iso.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us").cast(pl.Int64)
        - east * 60 * MICROSECONDS,
        digits.str.to_datetime("%y%m%d%H%M%S", strict=False, time_unit="us").cast(pl.Int64),
    )
    return frame.select(at=at, zoned=stamp.str.contains(_ZONE) & at.is_not_null())


def microseconds(moment: datetime) -> int:
    """Return a time in microseconds since 1970, in UTC if it has an offset, else in its unnamed local time."""
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)


def moment_at(us: int | None, zoned: bool) -> datetime | None:
    """Return the time that many microseconds after 1970, in UTC if `zoned`, else without an offset."""
    if us is None:
        return None
    moment = _EPOCH + timedelta(microseconds=us)
    return moment if zoned else moment.replace(tzinfo=None)


def _in_utc() -> pl.Expr:
    # Many stamps share their second, which polars then reads once.
    second = (
        pl.col("stamp").str.slice(0, 19).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="us", cache=True)
    )
    fraction = pl.col("stamp").str.strip_suffix("Z").str.slice(20)
    return second.cast(pl.Int64) + pl.when(fraction == "").then(0).otherwise(
        fraction.str.pad_end(6, "0").cast(pl.Int64, strict=False)
    )
