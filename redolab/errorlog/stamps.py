"""Records in a line of an error log: writer, time and message of each.

A physical line usually holds one record. It holds several where MySQL 5.5 to 5.7 print rollback percentages without
line ends, and other threads' stamped lines continue them (`… percents: 12026-11-21T09:07:57.580032Z 0 [Note] …`).

A record has up to three times, which are never mixed (`Clock`): when the lab saw the line arrive, what the server
stamped, and what a collector (journald, Docker, Kubernetes) stamped in front of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

# Long enough for a whole 5.7 percentage line with other lines in it; what is longer is no line of an error
# log.
MAX_LINE = 16_384
MICROSECONDS = 1_000_000
_HOURS, _MINUTES = 24, 60
_EPOCH = datetime(1970, 1, 1)
# The syslog form has no year; any leap year will do, since only differences between such stamps are used.
_NO_YEAR = 2000
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Clock(StrEnum):
    """Source of a time."""

    __hash__ = str.__hash__

    ARRIVAL = "arrival"
    SERVER = "log"
    COLLECTOR = "collector"


class Stamp(msgspec.Struct, frozen=True, gc=False):
    """Time in one stamp.

    `us`: microseconds since 1970, in UTC when `offset` is known, else in the unnamed local time of the stamp;
    `offset`: minutes east of UTC, or None; `step`: microseconds between two stamps that differ in this
    form;
    `dated`: whether the stamp has a year; `of_day`: whether it has no day either, and `us` counts from midnight.
    """

    us: int
    offset: int | None
    step: int
    dated: bool = True
    of_day: bool = False

    @property
    def form(self) -> tuple[bool, bool, bool]:
        """Form of the stamp: only stamps of the same one can be compared."""
        return self.offset is not None, self.dated, self.of_day

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
    when nothing does); `group`: the same without the process id; `late_form`: it has the form that only MySQL 5.7
    writes; `process_form`: that of MySQL 5.6, and of MariaDB from 10.3 on, which name the process behind the time;
    `error`: its label says that it is one; `backup`, `innodb`: a backup program or InnoDB wrote it.
    """

    text: str
    server: Stamp | None = None
    collector: Stamp | None = None
    stream: str = ""
    group: str = ""
    late_form: bool = False
    process_form: bool = False
    error: bool = False
    backup: bool = False
    innodb: bool = False


_NO_COLLECTOR = Record("")
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
    r"(?:(?P<day>\d{4}-\d\d-\d\d|\d{6}|[A-Z][a-z]{2} [ \d]\d)[T ] ?)?"
    r"(?P<H>\d{1,2}):(?P<M>\d\d):(?P<S>\d\d)(?:[.,](?P<f>\d+))?(?P<z>Z|[+-]\d\d:?\d\d)?"
)
# What every stamp holds.
_TIME_OF_DAY = re.compile(r":\d\d:\d\d")
# The rollback's percentages come without line ends, whatever the log's format.
_JSON = re.compile(r"(?:InnoDB: Progress in percents:)?[\d ]*(?=\{)")
# Name of one of several servers on a machine, as in mysqld@2.service.
_INSTANCE = re.compile(r"([^@]+@.+?)(?:\.service)?")
_HEADER = re.compile(
    rf"\s*(?:(?P<thread>(?:0x)?[0-9a-f]+)\s+(?=\[|InnoDB:))?(?P<label>{_LABEL}\s*)?(?P<code>\[MY-\d+\]\s*)?"
    r"(?:\[(?:(?P<innodb>InnoDB)|Server|(?P<backup>Xtrabackup))\]\s*)?(?P<labelled>InnoDB:\s*)?"
)
_PROCESS_DIGITS = 7
"""Digits of a process at most. MariaDB 10.1 and 10.2 have their threads' addresses there, MariaDB 10.0 nothing."""
_BACKUP_PROGRAMS = ("xtrabackup: ", "mariabackup: ", "innobackupex: ")
_BLANKS = re.compile(r"[ \t]{2,}")
# Remains of a web page from which a log was copied.
_HTML_END = re.compile(r"\s*(?:<br ?/?>|</p>)+\s*$")

# Programs of backups have no labels.
_BACKUP_ERROR = re.compile(r"(?:(?:xtra|maria)backup: [Ee]rror\b|(?:\[\d+\] )?FATAL ERROR: )")


def records(text: str) -> list[Record]:
    """Return the records of one physical line, in their order."""
    if "\0" in text:
        # It separates lines where a log was cut while it was written.
        return [record for part in text.split("\0") for record in records(part)]
    text, base = text[:MAX_LINE], _NO_COLLECTOR
    stamp = _SERVER_STAMP.match(text)
    if stamp is None:
        base, text = _collected(text)
        stamp = _SERVER_STAMP.match(text)
    if "{" in text and (found := _JSON.match(text)):
        return _from_json(text[found.end() :], base)
    return _from_text(text, base, stamp)


@lru_cache(maxsize=64)
def parse_stamp(text: str) -> Stamp | None:
    """Return the stamp that `text` is, or None where it is no possible date and time."""
    m = _STAMP_FIELDS.fullmatch(text)
    if m is None:
        return None
    day, hour, minute, second, fraction, zone = m.groups()
    # A time of day counts from midnight.
    midnight = 0 if day is None else _midnight(day)
    if midnight is None or int(hour) >= _HOURS or int(minute) >= _MINUTES:
        return None
    fraction, offset = fraction or "", _offset(zone)
    since_midnight = (int(hour) * _MINUTES + int(minute) - (offset or 0)) * _MINUTES + min(int(second), _MINUTES - 1)
    us = midnight + since_midnight * MICROSECONDS + int(fraction[:6].ljust(6, "0"))
    is_named = day is not None and day[0].isalpha()
    return Stamp(us, offset, 10 ** max(0, 6 - len(fraction)), not (is_named or day is None), day is None)


@lru_cache(maxsize=8)
def _midnight(day: str) -> int | None:
    """Return when a day begins, in microseconds since 1970; None for an impossible one."""
    try:
        if "-" in day:
            date = int(day[:4]), int(day[5:7]), int(day[8:])
        elif day[0].isdecimal():
            date = 2000 + int(day[:2]), int(day[2:4]), int(day[4:])
        else:
            date = _NO_YEAR, _MONTHS.index(day[:3]) + 1, int(day[4:])
        return (datetime(*date) - _EPOCH) // timedelta(microseconds=1)
    except ValueError:
        return None


def _offset(zone: str | None) -> int | None:
    if zone is None:
        return None
    if zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (-minutes if zone[0] == "-" else minutes) if minutes < 24 * 60 else None


def _collected(text: str) -> tuple[Record, str]:
    """Return the collector's part of a line, as a record without a text, and the server's own text."""
    source = _SOURCE.match(text)
    begin = source.end() if source else 0
    where = source[source.lastgroup] if source and source.lastgroup else ""
    collected = None if _SERVER_STAMP.match(text, begin) else _COLLECTED.match(text, begin)
    if collected is None:
        return Record("", stream=where, group=where), text[begin:]
    group = " ".join(filter(None, (where, collected["host"], collected["program"])))
    stream = f"{group}[{collected['pid']}]" if collected["pid"] else group
    return Record("", None, parse_stamp(collected["stamp"]), stream, group), text[collected.end() :]


def _from_text(text: str, base: Record, stamp: re.Match[str] | None) -> list[Record]:
    """Return the records of a text; `stamp`: the server's with which it begins."""
    begin = stamp.end() if stamp else 0
    # Hardly any line has a second stamp, and to look for one costs more than all else.
    if not _TIME_OF_DAY.search(text, begin):
        return [_record(text[begin:], stamp, base)]
    found = []
    for further in _SERVER_STAMP.finditer(text, begin):
        if further.start() > begin:
            found.append(_record(text[begin : further.start()], stamp, base))
        begin, stamp = further.end(), further
    return [*found, _record(text[begin:], stamp, base)]


def _record(text: str, stamp: re.Match[str] | None, base: Record) -> Record:
    header = _HEADER.match(text)
    thread, label, code, innodb, backup, labelled = header.groups("") if header else ("",) * 6
    body = _cleaned(text[header.end() :] if header else text)
    server = parse_stamp(stamp[0]) if stamp else None
    # This form of stamp came with MySQL 5.7, a code in the message with 8.0.
    is_utc_form = stamp is not None and "T" in stamp[0]
    has_process = bool(label) and thread.isdecimal() and len(thread) <= _PROCESS_DIGITS
    is_error = label.startswith(("[ERROR]", "[Error]"))
    is_innodbs = bool(innodb or labelled)
    return Record(
        text=body,
        server=server,
        collector=base.collector,
        stream=base.stream,
        group=base.group,
        late_form=is_utc_form and not code,
        process_form=has_process and server is not None and not is_utc_form,
        error=is_error or (not is_innodbs and _BACKUP_ERROR.match(body) is not None),
        backup=bool(backup) or body.startswith(_BACKUP_PROGRAMS),
        innodb=is_innodbs,
    )


def _cleaned(text: str) -> str:
    """Return a message with one blank where a copy has several, and without the end of a web page's line."""
    text = text.rstrip()
    if text.endswith(">"):
        text = _HTML_END.sub("", text)
    return _BLANKS.sub(" ", text) if "  " in text or "\t" in text else text


def _from_json(rest: str, base: Record) -> list[Record]:
    """Return the records of MySQL's JSON error log, of Docker's json-file logs and of `journalctl -o json`."""
    entry = _decoded(rest)
    if (record := _of_mysql(entry, base)) is not None:
        return [record]
    if isinstance(message := entry.get("log"), str):
        base = replace(base, collector=_json_stamp(entry, "time", "", 1))
    elif isinstance(message := entry.get("MESSAGE"), str):
        unit = _INSTANCE.fullmatch(str(entry.get("_SYSTEMD_UNIT", "")))
        group = f"{entry.get('_HOSTNAME', '')} {unit[1] if unit else entry.get('SYSLOG_IDENTIFIER', '')}"
        stream = f"{group}[{entry.get('_PID', '')}]"
        base = replace(base, collector=_json_stamp(entry, "", "__REALTIME_TIMESTAMP", 1), stream=stream, group=group)
    else:
        return []
    # A collector's JSON can hold a line of MySQL's.
    found = _JSON.match(message)
    record = None if found is None else _of_mysql(_decoded(message[found.end() :]), base)
    return _from_text(message, base, _SERVER_STAMP.match(message)) if record is None else [record]


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
    return replace(
        base,
        text=_cleaned(message.removeprefix("InnoDB: ")),
        server=_json_stamp(entry, "time", "ts", 1000),
        error=entry.get("label") == "Error",
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
