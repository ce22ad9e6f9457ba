"""What each kind of line means to a start: whether it can be of it, and what is learned from it.

A start becomes a recovery with the first line that only a recovery writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from redolab.timeline.events import Event, Family
from redolab.timeline.moments import LogMoment
from redolab.timeline.numbers import NUMBER, generation, integer, lsn_of
from redolab.timeline.stamps import Clock
from redolab.timeline.start import Heard, Reached, Resurrection, Start, StartKind

_LAST_BATCH = "last"

# The stage that a line belongs to. A line of an earlier stage than reached is of another start.
STAGES = {
    Event.PROCESS_START: Reached.STARTING,
    Event.START: Reached.STARTING,
    Event.INIT: Reached.STARTING,
    Event.INNODB_BEGINS: Reached.STARTING,
    Event.INITIALISING: Reached.STARTING,
    Event.BACKUP: Reached.STARTING,
    Event.CHECKPOINT: Reached.RECOVERING,
    Event.MISMATCH: Reached.RECOVERING,
    Event.PROGRESSED: Reached.RECOVERING,
    Event.NOT_SHUT_DOWN: Reached.RECOVERING,
    Event.CRASH_RECOVERY: Reached.RECOVERING,
    Event.FROM_CHECKPOINT: Reached.RECOVERING,
    Event.SCANNED: Reached.RECOVERING,
    Event.PARSED: Reached.RECOVERING,
    Event.END_OF_LOG: Reached.RECOVERING,
    Event.BATCH: Reached.RECOVERING,
    Event.BATCH_END: Reached.RECOVERING,
    Event.TO_RECOVER: Reached.RECOVERING,
    Event.OPENED: Reached.OPENED,
    Event.READY: Reached.READY,
}
# Each start writes these once: another one is of another start, even where no line of that start itself is in
# the log.
_ONCE = frozenset((Event.PROGRESSED, Event.NOT_SHUT_DOWN, Event.CRASH_RECOVERY, Event.FROM_CHECKPOINT))
# What can stand before a server's first lines.
_BEFORE: dict[Event, frozenset[Event]] = {
    # 8.0.15 keeps its lines back until InnoDB has recovered, but not a rollback's percents.
    Event.PROCESS_START: frozenset((Event.PERCENTS,)),
    Event.START: frozenset((Event.PROCESS_START, Event.PERCENTS)),
}
UNDO = frozenset((Event.UNDO_START, Event.UNDONE, Event.UNDO_END, Event.TRANSACTIONS, Event.ROWS))
# Lines of a recovery and of nothing else. A clean start of MySQL 8 applies a batch too, of 0 records.
_PROOF = frozenset(
    (
        Event.MISMATCH,
        Event.DOUBLEWRITE,
        Event.NOT_SHUT_DOWN,
        Event.CRASH_RECOVERY,
        Event.FROM_CHECKPOINT,
        Event.SCANNED,
        Event.PARSED,
        Event.BATCH,
        Event.TO_RECOVER,
        Event.PERCENTS,
    )
)
# What a server of MySQL 5.7 and later writes whatever its log_error_verbosity. All else are notes.
_NOT_NOTES = frozenset(
    (
        Event.PROCESS_START,
        Event.START,
        Event.INITIALISING,
        Event.INITIALISED,
        Event.INNODB_BEGINS,
        Event.INNODB_DONE,
        Event.PERCENTS,
        Event.XA_RECOVERY,
        Event.XA_RECOVERED,
        Event.READY,
        Event.VERSION,
        Event.NO_FREE_BLOCK,
    )
)


def belongs(start: Start, event: Event) -> bool:
    """Whether a line that tells `event` can be of this start."""
    role = _ROLES[event]
    stage = role.stage
    if stage is None:
        return True
    if role.once and event in start.marks:
        return False
    if stage is Reached.STARTING:
        return start.stage is Reached.STARTING and (event not in _BEFORE or start.marks.keys() <= _BEFORE[event])
    return stage >= start.stage and not (stage is start.stage and stage >= Reached.OPENED)


def hear(start: Start, line: Heard) -> None:
    """Take in a line of this start."""
    log_event = line.log_event
    event = log_event.event
    role = _ROLES[event]
    if role.once and line.late_form:
        start.late_notice = True
    if start.family is None:
        start.family = log_event.family
    if role.stage is not None and role.stage > start.stage:
        start.stage = role.stage
    # A rollback alone is no recovery of redo, unless this is the end of a log whose beginning is lost.
    if (role.proof and log_event.values.get("pages") != "0") or (role.undo and start.begun_by is None):
        start.proven = True
    if role.note:
        start.notes = True
    if event is Event.NO_FREE_BLOCK:
        start.no_free_block_since = start.no_free_block_since or line.moment
        start.no_free_block += 1
    else:
        start.no_free_block, start.no_free_block_since = 0, None
    if start.is_restoring:
        start.restored, start.is_restoring = line.moment, False
    if role.handler:
        role.handler(start, line)
    if role.stage is Reached.RECOVERING:
        start.last = line
    if not role.first or event not in start.marks:
        start.marks[event] = line.moment


# Of these the first counts; of all others the last.
_FIRST = frozenset(
    (
        Event.PROCESS_START,
        Event.START,
        Event.INIT,
        Event.INNODB_BEGINS,
        Event.INITIALISING,
        Event.BACKUP,
        Event.DOUBLEWRITE,
        Event.PERCENTS,
        Event.XA_RECOVERY,
        Event.UNDO_START,
        Event.OPENED,
        Event.READY,
        Event.AFTER_APPLY,
    )
)
# The better witness of a server's start first.
_FIRST_LINES = {
    Event.PROCESS_START: 0,
    Event.START: 1,
    Event.INITIALISING: 1,
    Event.BACKUP: 1,
    Event.INIT: 2,
    Event.INNODB_BEGINS: 2,
}


def _on_start(start: Start, line: Heard) -> None:
    if start.begun_by is None or _FIRST_LINES[line.event] < _FIRST_LINES[start.begun_by]:
        start.begun_by = line.event
    _on_version(start, line)


def _on_backup(start: Start, line: Heard) -> None:
    start.kind = StartKind.BACKUP
    _on_start(start, line)


def _on_backup_done(start: Start, _line: Heard) -> None:
    if start.kind is StartKind.BACKUP:
        start.outcome = "completed OK!"


def _on_initialising(start: Start, line: Heard) -> None:
    start.kind = StartKind.INITIALISE
    _on_start(start, line)


def _on_initialised(start: Start, _line: Heard) -> None:
    start.outcome = "initialised"


def _on_position(start: Start, line: Heard) -> None:
    start.kind = StartKind.POSITION
    start.outcome = f"recovered position {line.value('position') or 'not told'}"


def _on_version(start: Start, line: Heard) -> None:
    if version := line.value("version"):
        start.name(version, line.value("vendor") or "")


def _on_version_line(start: Start, line: Heard) -> None:
    """The second line of those that say that a server of 5.0 to 5.6 is ready: the first may be in its language, or lost."""
    _on_version(start, line)
    if Event.READY not in start.marks and start.stage > Reached.STARTING:
        start.marks[Event.READY] = line.moment
        start.stage = Reached.READY


def _on_doublewrite(start: Start, _line: Heard) -> None:
    start.is_restoring = start.restored is None


def _on_discovered(start: Start, line: Heard) -> None:
    start.checkpoint_lsn = start.checkpoint_lsn or lsn_of(line.value("lsn"))
    # 5.7 prints this pair only after the scan.
    late = line.event in (Event.NOT_SHUT_DOWN, Event.CRASH_RECOVERY) and _prints_late(start)
    # In 5.1 the first of these lines, printed at once, has no stamp but the second has. Where two say it, the usual one counts.
    better = (
        start.discovered is None
        or start.discovered is start.marks.get(Event.MISMATCH)
        or (start.discovered.tick(Clock.SERVER) is None and line.moment.tick(Clock.SERVER) is not None)
    )
    if better and not (late or start.redo.batches or Event.SCANNED in start.marks):
        start.discovered = line.moment
        start.redo.begin(line.moment)


def _prints_late(start: Start) -> bool:
    return start.version.startswith("5.7.") if start.version else start.late_notice


def _on_checkpoint(start: Start, line: Heard) -> None:
    start.checkpoint_lsn = lsn_of(line.value("lsn"))


def _on_scanned(start: Start, line: Heard) -> None:
    # A second batch reads from its own beginning again, and says how far it is: the end is where the first came to.
    if lsn := lsn_of(line.value("lsn")):
        start.scanned_lsn = max(lsn, start.scanned_lsn or 0)
        start.first_scanned_lsn = start.first_scanned_lsn or lsn


def _on_batch(start: Start, line: Heard) -> None:
    start.redo.batch(line.moment)
    if (pages := integer(line.value("pages"))) is not None:
        start.pages = (start.pages or 0) + pages


def _on_batch_end(start: Start, line: Heard) -> None:
    start.redo.batch_end(line.moment)


def _on_to_recover(start: Start, line: Heard) -> None:
    """A batch of MariaDB begins, or it says again, 15 s later, how large it is."""
    values = line.log_event.values
    one_of_many = values.get("which") == "a"
    key = f"a {line.moment.number}" if one_of_many else values.get("upto") or _LAST_BATCH
    if key != start.batch_key:
        start.batch_key = key
        if one_of_many:
            start.redo.mix()
        _on_batch(start, line)


def _on_after_apply(start: Start, line: Heard) -> None:
    if start.batch_key == _LAST_BATCH:
        start.redo.batch_end(line.moment)


def _undo_begins(start: Start) -> LogMoment | None:
    """Where the undo logs began to be read, if after the line of the recovery that was heard last no more redo is."""
    last = start.last
    if last is None or start.redo.applying:
        return None
    late = last.event in (Event.CRASH_RECOVERY, Event.SCANNED, Event.BATCH_END) and _prints_late(start)
    return last.moment if late or last.event in (Event.END_OF_LOG, Event.UNDO_OPENED) else None


def _on_undo_opened(start: Start, line: Heard) -> None:
    start.last = line


def _on_prepared(start: Start, line: Heard) -> None:
    # A line for the inserts of each and one for its updates, and their number, which stands in MariaDB's log more than once.
    if (transaction := line.value("prepared_trx")) is not None:
        start.prepared_ones.add(transaction)
        start.prepared = max(start.prepared, len(start.prepared_ones))
    elif (count := integer(line.value("prepared"))) is not None:
        start.prepared = max(start.prepared, count)


def _on_transactions(start: Start, line: Heard) -> None:
    if (transactions := integer(line.value("transactions"))) is not None:
        start.transactions = transactions
        if begin := _undo_begins(start):
            start.resurrected = Resurrection(begin, line.moment, start.redo.batches)
    if (rows := integer(line.value("rows"))) is not None:
        start.rows = rows * (1_000_000 if line.value("millions") else 1)


def _on_undone(start: Start, line: Heard) -> None:
    start.rolled_back += 1
    # Data dictionary transactions are rolled back in the foreground, which says neither that it begins nor that it ends.
    if Event.UNDO_START not in start.marks and start.rolled_back == (start.transactions or 0) - start.prepared:
        start.marks[Event.UNDO_END] = line.moment


def _on_opened(start: Start, line: Heard) -> None:
    start.opened_lsn = start.opened_lsn or lsn_of(line.value("lsn"))
    _on_after_apply(start, line)
    number = NUMBER.match(line.value("version") or line.value("xtradb") or "")
    if number is None:
        return
    family, is_servers = _named_at_open(generation(number[0]), line)
    # Percona Server writes most of its lines as MySQL does.
    if start.family is None or (start.family is Family.MYSQL and family is Family.PERCONA):
        start.family = family
    if start.version is None and is_servers and (family or Family.MYSQL) is (start.family or Family.MYSQL):
        start.version = number[0]


def _on_innodb_done(start: Start, line: Heard) -> None:
    if Event.OPENED not in start.marks and start.stage < Reached.OPENED:
        start.marks[Event.OPENED] = line.moment
        start.stage = Reached.OPENED


def _on_xa_recovery(start: Start, _line: Heard) -> None:
    # It is begun only where the binary log was left in use: by a server that InnoDB's shutdown did not follow.
    if not start.notes:
        start.proven = True


def _named_at_open(numbers: tuple[int, ...], line: Heard) -> tuple[Family | None, bool]:
    """Whose InnoDB is opened as of these numbers, where only one can be, and whether the number is the server's too.

    5.5 and older have a number of InnoDB's own, and MariaDB before 10.3 has that of the MySQL from which it took InnoDB.
    """
    if line.value("xtradb"):
        # XtraDB 5.6 is in MariaDB 10.0 and 10.1 as well.
        percona = numbers >= (5, 7)
        return (Family.PERCONA if percona else None), percona
    if line.value("transaction"):
        return Family.MARIADB, True
    if numbers == (5, 6):
        return (Family.MYSQL if line.process_form else None), line.process_form
    if numbers == (5, 7):
        return None, line.late_form
    # MySQL's versions are years from 26.7 on.
    return (Family.MYSQL, True) if (8, 0) <= numbers < (10, 0) or numbers >= (26, 0) else (None, False)


_HANDLERS: dict[Event, Callable[[Start, Heard], None]] = {
    Event.PROCESS_START: _on_start,
    Event.START: _on_start,
    Event.INIT: _on_start,
    Event.INNODB_BEGINS: _on_start,
    Event.INITIALISING: _on_initialising,
    Event.INITIALISED: _on_initialised,
    Event.BACKUP: _on_backup,
    Event.BACKUP_DONE: _on_backup_done,
    Event.WSREP_RECOVERED: _on_position,
    Event.CHECKPOINT: _on_checkpoint,
    Event.MISMATCH: _on_discovered,
    Event.DOUBLEWRITE: _on_doublewrite,
    Event.PROGRESSED: _on_discovered,
    Event.NOT_SHUT_DOWN: _on_discovered,
    Event.CRASH_RECOVERY: _on_discovered,
    Event.FROM_CHECKPOINT: _on_discovered,
    Event.SCANNED: _on_scanned,
    Event.PARSED: _on_scanned,
    Event.END_OF_LOG: _on_scanned,
    Event.BATCH: _on_batch,
    Event.BATCH_END: _on_batch_end,
    Event.TO_RECOVER: _on_to_recover,
    Event.AFTER_APPLY: _on_after_apply,
    Event.TRANSACTIONS: _on_transactions,
    Event.ROWS: _on_transactions,
    Event.UNDONE: _on_undone,
    Event.UNDO_OPENED: _on_undo_opened,
    Event.PREPARED: _on_prepared,
    Event.XA_RECOVERY: _on_xa_recovery,
    Event.OPENED: _on_opened,
    Event.INNODB_DONE: _on_innodb_done,
    Event.READY: _on_version,
    Event.VERSION: _on_version_line,
}


class _Role(NamedTuple):
    """What a kind of line means to a start, looked up once for each line."""

    stage: Reached | None
    once: bool
    proof: bool
    undo: bool
    note: bool
    first: bool
    handler: Callable[[Start, Heard], None] | None


_ROLES = {
    event: _Role(
        STAGES.get(event),
        event in _ONCE,
        event in _PROOF,
        event in UNDO,
        event not in _NOT_NOTES,
        event in _FIRST,
        _HANDLERS.get(event),
    )
    for event in Event
}
