"""Records in a line of an error log: writer, time and message of each.

A physical line usually holds one record. It holds several where MySQL 5.5 to 5.7 print rollback percentages without
line ends, and other threads' stamped lines continue them (`… percents: 12026-11-21T09:07:57.580032Z 0 [Note] …`).

A record has up to three times, which are never mixed (`Clock`): when the lab saw the line arrive, what the server
stamped, and what a collector (journald, Docker, Kubernetes) stamped in front of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

# Long enough for a whole 5.7 percentage line with other lines in it; what is longer is no line of an error
# log.
MAX_LINE = 16_384
MICROSECONDS = 1_000_000
_EPOCH = datetime(1970, 1, 1)
# The syslog form has no year; any leap year will do, since only differences between such stamps are used.
_NO_YEAR = 2000
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}


class Clock(IntEnum):
    """Source of a time."""

    ARRIVAL = 0
    SERVER = 1
    COLLECTOR = 2


class Stamp(msgspec.Struct, frozen=True, gc=False):
    """Time as one stamp tells it.

    `us`: microseconds since 1970, in UTC when `offset` is known, else in the unnamed local time of the stamp;
    `offset`: minutes east of UTC, or None; `step`: microseconds between two stamps that the form can tell
    apart;
    `dated`: whether the stamp has a year; `of_day`: whether it has no day either, and `us` counts from midnight.
    """

    us: int
    offset: int | None
    step: int
    dated: bool = True
    of_day: bool = False

    def datetime(self) -> datetime | None:
        """Return the stamp as a date and time, with its own offset where it has one."""
        if not self.dated:
            return None
        local = _EPOCH + timedelta(microseconds=self.us)
        if self.offset is None:
            return local
        return local.replace(tzinfo=UTC).astimezone(timezone(timedelta(minutes=self.offset)))


class Record(msgspec.Struct, frozen=True, gc=False):
    """Message of one writer at one time.

    `text`: the message without stamp, thread, label and `InnoDB:`; `stream`: the writer as the collector names it (""
    when nothing does); `group`: the same without the process id; `modern`: the message carried a code (MySQL 8 and
    later); `utc_form`: it was stamped in the form that MySQL introduced with 5.7; `process_form`: in that of MySQL 5.6,
    which names the process behind the time; `error`: its label says that it is one; `backup`, `innodb`: a backup
    program or InnoDB wrote it.
    """

    text: str
    server: Stamp | None = None
    collector: Stamp | None = None
    stream: str = ""
    group: str = ""
    modern: bool = False
    utc_form: bool = False
    process_form: bool = False
    error: bool = False
    backup: bool = False
    innodb: bool = False


_TIME = r"\d{1,2}:\d\d:\d\d"
_ISO = rf"(?:19|20)\d\d-\d\d-\d\d(?:T| {{1,2}}){_TIME}(?:[.,]\d{{1,9}})?(?:Z|[+-]\d\d:?\d\d)?"
_OLD = rf"\d{{6}} {{1,2}}{_TIME}"
_SYSLOG = rf"(?:{'|'.join(_MONTHS)}) [ \d]\d {_TIME}(?:\.\d{{1,9}})?"
_LABEL = r"\[(?:Note|Warning|Warn|ERROR|Error|System)\]"

# Lines of backup programs themselves, which begin with the time.
_BACKUP = (
    r"(?:(?:xtra|maria)backup: |innobackupex: )?"
    r"(?:Starting InnoDB instance for recovery|Last binlog file|completed OK!)"
)

# The text after it distinguishes a server's own stamp from any other date: thread and label, `InnoDB:` or the like.
_SERVER_STAMP = re.compile(
    rf"(?P<iso>{_ISO})(?= (?:\d+ {_LABEL}|[0-9a-fx]{{4,16}} {{1,2}}InnoDB:|UTC - |mysqld_safe ))"
    rf"|(?P<old>{_OLD})(?= {{1,2}}(?:InnoDB:|{_LABEL}|Percona XtraDB|mysqld_safe |mysqld (?:re)?(?:start|end)ed))"
    # Without a day, as some log shippers leave it: not the end of a longer stamp.
    rf"|(?<![\d:.T-])(?<!\d )(?P<time>\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?)(?= (?:\d{{1,20}} )?{_LABEL})"
    # Stamps of mariabackup, after the number of the thread, and of xtrabackup 2.
    rf"|(?P<backup>{_ISO}|{_OLD})(?= {_BACKUP})"
)
_SOURCE = re.compile(
    r"\s*(?:> ?)*"  # quoted in a message
    r"(?:(?P<service>[\w.-]+)\s*\| ?"  # docker compose
    r"|\[(?P<pod>pod/[^\s\]]+)\] "  # kubectl logs --prefix
    rf"|(?P<stern>[a-z0-9][\w.-]* [a-z0-9][\w.-]*) (?={_ISO}))?"  # stern: pod and container
)
_COLLECTED = re.compile(
    rf"(?P<stamp>{_ISO}|{_SYSLOG}) {{1,2}}"
    r"(?:(?:stdout|stderr) [FP] "  # the files of the container runtime interface
    r"|(?P<host>[\w.-]+) (?P<program>[\w./@-]+?)(?:\[(?P<pid>\d+)\])?: )?"  # journald, syslog
)
_STAMP_FIELDS = re.compile(
    r"(?:(?:(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"
    r"|(?P<y2>\d\d)(?P<m2>\d\d)(?P<d2>\d\d)|(?P<b>[A-Z][a-z]{2}) (?P<bd>[ \d]\d))"
    r"[T ] ?)?(?P<H>\d{1,2}):(?P<M>\d\d):(?P<S>\d\d)(?:[.,](?P<f>\d+))?(?P<z>Z|[+-]\d\d:?\d\d)?"
)
# The rollback's percentages come without line ends, whatever the log's format.
_JSON = re.compile(r"(?:InnoDB: Progress in percents:)?[\d ]*(?=\{)")
# Name of one of several servers on a machine, as in mysqld@2.service.
_INSTANCE = re.compile(r"([^@]+@.+?)(?:\.service)?")
# A process has at most 7 digits. MariaDB 10.1 and 10.2 have their threads' addresses there, MariaDB 10.0 nothing.
_PROCESS = re.compile(rf" \d{{1,7}} {_LABEL}")
_HEADER = re.compile(
    rf"\s*(?:(?:0x)?[0-9a-f]+\s+(?=\[|InnoDB:))?(?P<label>{_LABEL}\s*)?(?P<code>\[MY-\d+\]\s*)?"
    r"(?:\[(?:(?P<innodb>InnoDB)|Server|(?P<backup>Xtrabackup))\]\s*)?(?P<labelled>InnoDB:\s*)?"
)
_BACKUP_PROGRAMS = ("xtrabackup: ", "mariabackup: ", "innobackupex: ")
_BLANKS = re.compile(r"[ \t]{2,}")
# Remains of a web page from which a log was copied.
_HTML_END = re.compile(r"\s*(?:<br ?/?>|</p>)+\s*$")

# Programs of backups have no labels.
_BACKUP_ERROR = re.compile(r"(?:(?:xtra|maria)backup: [Ee]rror\b|(?:\[\d+\] )?FATAL ERROR: )")


def records(text: str) -> Iterator[Record]:
    """Yield the records of one physical line, in their order."""
    text = text[:MAX_LINE]
    base, begin = _prefix(text)
    if found := _JSON.match(text, begin):
        yield from _from_json(text[found.end() :], base)
    else:
        yield from _from_text(text[begin:], base)


@lru_cache(maxsize=64)
def parse_stamp(text: str) -> Stamp | None:
    """Return the stamp that `text` is, or None where it is no possible date and time."""
    m = _STAMP_FIELDS.fullmatch(text)
    if m is None:
        return None
    year, month, day, short_year, old_month, old_day, name, name_day, hour, minute, second, fraction, zone = m.groups()
    # A time of day counts from midnight.
    date = 1970, 1, 1
    if year:
        date = int(year), int(month), int(day)
    elif short_year:
        date = 2000 + int(short_year), int(old_month), int(old_day)
    elif name:
        date = _NO_YEAR, _MONTHS.get(name, 0), int(name_day)
    fraction = fraction or ""
    try:
        clock = int(hour), int(minute), min(int(second), 59), int(fraction[:6].ljust(6, "0"))
        moment = datetime(*date, *clock)
    except ValueError:
        return None
    offset = _offset(zone)
    us = (moment - _EPOCH) // timedelta(microseconds=1) - (offset or 0) * 60 * MICROSECONDS
    of_day = not (year or short_year or name)
    return Stamp(us, offset, 10 ** max(0, 6 - len(fraction)), not (name or of_day), of_day)


def _offset(zone: str | None) -> int | None:
    if zone is None:
        return None
    if zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (-minutes if zone[0] == "-" else minutes) if minutes < 24 * 60 else None


def _prefix(text: str) -> tuple[Record, int]:
    """Return the collector's part of a line, as a record without a text, and the begin of the server's own text."""
    source = _SOURCE.match(text)
    begin = source.end() if source else 0
    where = source[source.lastgroup] if source and source.lastgroup else ""
    collected = None if _SERVER_STAMP.match(text, begin) else _COLLECTED.match(text, begin)
    if collected is None:
        return Record("", stream=where, group=where), begin
    group = " ".join(filter(None, (where, collected["host"], collected["program"])))
    stream = f"{group}[{collected['pid']}]" if collected["pid"] else group
    return Record("", None, parse_stamp(collected["stamp"]), stream, group), collected.end()


def _from_text(rest: str, base: Record) -> Iterator[Record]:
    begin, stamp, utc_form = 0, None, False
    for found in _SERVER_STAMP.finditer(rest):
        if found.start() > begin:
            yield _record(rest[begin : found.start()], stamp, utc_form, base)
        begin, stamp, utc_form = found.end(), parse_stamp(found[0]), "T" in found[0]
    yield _record(rest[begin:], stamp, utc_form, base)


def _record(text: str, stamp: Stamp | None, utc_form: bool, base: Record) -> Record:
    header = _HEADER.match(text)
    body = _told(text[header.end() :] if header else text)
    modern = bool(header and header["code"])
    return replace(
        base,
        text=body,
        server=stamp,
        modern=modern,
        utc_form=utc_form,
        process_form=stamp is not None and not utc_form and _PROCESS.match(text) is not None,
        error=_is_error(header["label"] or "" if header else "", body),
        backup=bool(header and header["backup"]) or body.startswith(_BACKUP_PROGRAMS),
        innodb=bool(header and (header["innodb"] or header["labelled"])),
    )


def _told(text: str) -> str:
    """Return a message with one blank where a copy has several, and without the end of a web page's line."""
    text = text.rstrip()
    if text.endswith(">"):
        text = _HTML_END.sub("", text)
    return _BLANKS.sub(" ", text) if "  " in text or "\t" in text else text


def _is_error(label: str, body: str) -> bool:
    return label.upper().startswith("[ERROR]") or _BACKUP_ERROR.match(body) is not None


def _from_json(rest: str, base: Record) -> Iterator[Record]:
    """Yield the records of MySQL's JSON error log, of Docker's json-file logs and of `journalctl -o json`."""
    entry = _decoded(rest)
    if (record := _of_mysql(entry, base)) is not None:
        yield record
    elif isinstance(message := entry.get("log"), str):
        yield from _from_message(message, replace(base, collector=_json_stamp(entry, "time", "", 1)))
    elif isinstance(message := entry.get("MESSAGE"), str):
        unit = _INSTANCE.fullmatch(str(entry.get("_SYSTEMD_UNIT", "")))
        group = f"{entry.get('_HOSTNAME', '')} {unit[1] if unit else entry.get('SYSLOG_IDENTIFIER', '')}"
        stamp = _json_stamp(entry, "", "__REALTIME_TIMESTAMP", 1)
        yield from _from_message(
            message, replace(base, collector=stamp, stream=f"{group}[{entry.get('_PID', '')}]", group=group)
        )


def _from_message(message: str, base: Record) -> Iterator[Record]:
    """Yield the records in a collector's JSON: a line of text, or of MySQL's JSON error log."""
    found = _JSON.match(message)
    record = None if found is None else _of_mysql(_decoded(message[found.end() :]), base)
    yield from _from_text(message, base) if record is None else (record,)


def _decoded(text: str) -> Mapping[str, Any]:
    """Return a JSON object; empty where it is none."""
    try:
        entry = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return entry if isinstance(entry, Mapping) else {}


def _of_mysql(entry: Mapping[str, Any], base: Record) -> Record | None:
    if not isinstance(message := entry.get("msg"), str):
        return None
    stamp = _json_stamp(entry, "time", "ts", 1000)
    text, error = _told(message.removeprefix("InnoDB: ")), entry.get("label") == "Error"
    return replace(
        base,
        text=text,
        server=stamp,
        modern=True,
        utc_form=True,
        error=error,
        backup=entry.get("subsystem") == "Xtrabackup",
        innodb=entry.get("subsystem") == "InnoDB",
    )


def _json_stamp(entry: Mapping[str, Any], written: str, counted: str, unit: int) -> Stamp | None:
    """Return the stamp under the key `written`, else the count under `counted` of `unit` microseconds since 1970."""
    if isinstance(text := entry.get(written), str):
        return parse_stamp(text)
    count = entry.get(counted)
    if isinstance(count, str) and count.isdecimal() and len(count) <= 18:
        count = int(count)
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**55 // unit:
        return Stamp(count * unit, 0, unit)
    return None
