"""Ledger: what clients sent, which commits the server acknowledged, and whether a recovered server kept its promise.

It is the ledger of a bank test, as Jepsen's. A commit without an answer is unknown: either outcome is right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import msgspec

from redolab.errors import LabError
from redolab.workloads.data import LEFT_BY, Defines, Rows, TableCheck

_NANOSECONDS = 1e9
REPLICA = "replica"
"""Name of the file with the replica's notes, among those of the clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A transaction as its client noted it; times in nanoseconds of CLOCK_MONOTONIC."""

    client: int
    number: int
    sent: int
    """Time before the first statement."""
    acknowledged: int | None = None
    """Time after the commit; None if no answer came."""
    prepared: int | None = None
    """Time after XA PREPARE; None if no answer came, or the transaction is none of XA."""
    refused: bool = False
    """True if the server reported that it had rolled the transaction back."""

    @property
    def key(self) -> tuple[int, int]:
        """Client and number."""
        return self.client, self.number


@dataclass(frozen=True, slots=True)
class Seen:
    """At `time` another session had read all transactions of `client` up to `number`.

    In the notes of a replica: the transaction `number` alone had arrived.
    """

    client: int
    number: int
    time: int

    @property
    def key(self) -> tuple[int, int]:
        """Client and number."""
        return self.client, self.number


@dataclass(frozen=True, slots=True)
class Definition:
    """A statement that defines a table, by its number in its client's order; times as of `Transaction`."""

    number: int
    sent: int
    acknowledged: int | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """Notes of all clients."""

    transactions: Sequence[Transaction]
    seen: Sequence[Seen]
    rows_each: int
    """Rows of each transaction."""
    definitions: Sequence[Definition] = ()
    """Statements that define tables, in the order of their numbers."""
    defines: Defines = Defines.NOTHING
    """Kind of the statements that define tables."""
    replicated: Sequence[Seen] = ()
    """Transactions that a replica had got of the binary log, and when."""

    @property
    def acknowledgements(self) -> list[int]:
        """Return the times of all acknowledgements, of transactions and of statements that define tables, in order."""
        notes: list[Transaction | Definition] = [*self.transactions, *self.definitions]
        return sorted(each.acknowledged for each in notes if each.acknowledged is not None)


@dataclass(frozen=True, slots=True)
class Found:
    """Content of a recovered server, as far as the ledger concerns it."""

    rows_found: Mapping[tuple[int, int], int]
    """Client and number of a transaction → how many of its rows are there."""
    balance: int
    """Sum of the balances of all accounts."""
    balance_at_first: int
    logged: frozenset[tuple[int, int]] | None = None
    """Transactions that are in the binary log; None where it is off."""
    defined: Rows = None
    """Rows of the table that a client defines."""
    unreadable: str = ""
    """Error of the server when these rows were read; empty if there was none."""
    prepared: frozenset[tuple[int, int]] = frozenset()
    """Transactions that the server lists as prepared (XA RECOVER)."""


class Fault(StrEnum):
    """Fault in the content of a recovered server; the gravest first."""

    BROKEN = "left what contradicts itself"
    LOST = "lost acknowledged commits"
    APART = "left other transactions in the binary log than in the tables"
    AHEAD = "left a replica with transactions that the server has not"


class LedgerVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of comparing a recovered server with the ledger; counts of transactions unless stated otherwise."""

    acknowledged: int
    """Transactions acknowledged before the cut."""
    lost: int = 0
    """Transactions acknowledged before the cut and missing."""
    prepared_lost: int = 0
    """Transactions of XA whose preparation was acknowledged before the cut, and that are neither prepared nor there."""
    seconds_back: float = 0.0
    """Seconds from the acknowledgement of the oldest lost transaction to the cut; 0 if none is lost."""
    holes: int = 0
    """Missing transactions although a later one, sent after their acknowledgement by any client, is present."""
    torn: int = 0
    """Transactions of which only some rows are present."""
    wrong: int = 0
    """Transactions present that nobody had sent or that the server had refused."""
    money: int = 0
    """Change in the sum of all accounts, which every transaction leaves equal."""
    seen_then_lost: int = 0
    """Clients of whom another session had read transactions that are now missing."""
    only_in_tables: int = 0
    """Transactions in the tables and not in the binary log: a replica would never get them."""
    only_in_binary_log: int = 0
    """Transactions in the binary log and not in the tables: only a replica would have them."""
    only_on_replica: int = 0
    """Transactions that a replica had received before the cut and that are missing here."""
    unknown: int = 0
    """Transactions sent before the cut and never answered: they may be present or not."""
    defining: bool = False
    """True if a statement that defines a table was in progress at the cut."""
    definitions_lost: int = 0
    """Statements that define a table, acknowledged before the cut, whose effect is missing."""
    misdefined: str = ""
    """Content of the table, or the error on reading it, if no statement can have left it so; else empty."""

    @property
    def is_whole(self) -> bool:
        """Return True if the content is consistent: transactions present are whole, in order, and were sent."""
        return not (self.holes or self.torn or self.wrong or self.money or self.misdefined)


def faults_of(verdict: LedgerVerdict | None, failed: Sequence[TableCheck]) -> list[Fault]:
    """Return all faults, whatever durability the settings promise.

    `verdict`: None if the server did not come up; `failed`: further failed checks.
    """
    if verdict is None:
        return [Fault.BROKEN]
    found = {
        Fault.BROKEN: bool(failed) or not verdict.is_whole,
        Fault.LOST: bool(verdict.lost or verdict.prepared_lost or verdict.definitions_lost),
        Fault.APART: bool(verdict.only_in_tables or verdict.only_in_binary_log),
        Fault.AHEAD: verdict.only_on_replica > 0,
    }
    return [fault for fault, is_there in found.items() if is_there]


def judged(ledger: Ledger, cut: int, found: Found) -> LedgerVerdict:
    """Compare a server recovered after a cut at time `cut` (nanoseconds of CLOCK_MONOTONIC) with the ledger."""
    there = set(found.rows_found)
    sent = {each.key: each for each in ledger.transactions if each.sent <= cut and not each.refused}
    known = [each for each in sent.values() if each.acknowledged is not None and each.acknowledged <= cut]
    lost = [each for each in known if each.key not in there]
    times = [each.acknowledged for each in lost if each.acknowledged is not None]
    present = [sent[key] for key in there if key in sent]
    logged = there if found.logged is None else found.logged
    undone = None if found.unreadable else _undone(ledger, cut, found.defined)
    return LedgerVerdict(
        acknowledged=len(known),
        lost=len(lost),
        prepared_lost=_prepared_lost(sent, cut, there | found.prepared),
        seconds_back=(cut - min(times)) / _NANOSECONDS if times else 0.0,
        holes=_holes(sent, present, lost, there),
        torn=sum(count != ledger.rows_each for count in found.rows_found.values()),
        wrong=sum(key not in sent for key in there),
        money=abs(found.balance - found.balance_at_first),
        seen_then_lost=_seen_then_lost(ledger, cut, there),
        only_in_tables=len(there - logged),
        only_in_binary_log=len(logged - there),
        only_on_replica=sum(each.time <= cut and each.key not in there for each in ledger.replicated),
        unknown=len(sent) - len(known),
        defining=any(_is_under_way(each, cut) for each in ledger.definitions),
        definitions_lost=undone or 0,
        misdefined=found.unreadable or ("" if undone is not None else _in_words(found.defined)),
    )


def _prepared_lost(sent: Mapping[tuple[int, int], Transaction], cut: int, kept: Collection[tuple[int, int]]) -> int:
    """Return how many transactions were prepared before the cut, not acknowledged, and are gone."""
    prepared = {
        key
        for key, each in sent.items()
        if each.prepared is not None and each.prepared <= cut and (each.acknowledged is None or each.acknowledged > cut)
    }
    return len(prepared.difference(kept))


def _is_under_way(definition: Definition, cut: int) -> bool:
    return definition.sent <= cut and (definition.acknowledged is None or definition.acknowledged > cut)


def _undone(ledger: Ledger, cut: int, found: Rows) -> int | None:
    """Return how many acknowledged statements are undone; None if no possible statement left the table in this form.

    Possible are the last acknowledged statement, any statement in progress at the cut, and all earlier ones.
    """
    left_by = LEFT_BY[ledger.defines]

    def rows(number: int) -> Rows:
        # Before the first statement there is no table.
        return left_by[(number - 1) % len(left_by)]

    known = [each.number for each in ledger.definitions if each.acknowledged is not None and each.acknowledged <= cut]
    last = max(known, default=0)
    possible = {rows(last), *(rows(each.number) for each in ledger.definitions if _is_under_way(each, cut))}
    if found in possible:
        return 0
    return next((last - number for number in range(last - 1, -1, -1) if rows(number) == found), None)


def _in_words(rows: Rows) -> str:
    return "no table" if rows is None else f"{', '.join(map(str, rows))} rows"


def _holes(
    sent: Mapping[tuple[int, int], Transaction],
    present: Sequence[Transaction],
    lost: Sequence[Transaction],
    there: set[tuple[int, int]],
) -> int:
    last_of = _last_of_each(each.key for each in present)
    missing = {key for key in sent if key not in there and key[1] < last_of[key[0]]}
    latest = max((each.sent for each in present), default=0)
    # A client that sent after an acknowledgement may have acted on it.
    missing |= {each.key for each in lost if each.acknowledged is not None and each.acknowledged < latest}
    return len(missing)


def _seen_then_lost(ledger: Ledger, cut: int, there: set[tuple[int, int]]) -> int:
    seen, last = _last_of_each(each.key for each in ledger.seen if each.time <= cut), _last_of_each(there)
    return sum(number > last[client] for client, number in seen.items())


def _last_of_each(keys: Iterable[tuple[int, int]]) -> Mapping[int, int]:
    """Return client → number of its last transaction among these; 0 for a client without one."""
    last: dict[int, int] = defaultdict(int)
    for client, number in keys:
        last[client] = max(last[client], number)
    return last


def read_ledger(folder: Path, rows_each: int, defines: Defines = Defines.NOTHING) -> Ledger:
    """Return the notes of all clients in a folder, one file a client. Raises `LabError` if a note cannot be read."""
    sent: dict[tuple[int, int], Transaction] = {}
    seen: list[Seen] = []
    replicated: list[Seen] = []
    definitions: dict[int, Definition] = {}
    for path in sorted(folder.iterdir()):
        client = 0 if path.name == REPLICA else int(path.name)
        for line in path.read_text().splitlines():
            try:
                kind, subject, time = line.split()
                match kind:
                    case "R" | "B":
                        whose, _, number = subject.partition(":")
                        read = seen if kind == "R" else replicated
                        read.append(Seen(int(whose), int(number), int(time)))
                    case "D" | "E":
                        _note_definition(kind, int(subject), int(time), definitions)
                    case _:
                        _note_transaction(kind, (client, int(subject)), int(time), sent)
            except (ValueError, KeyError):
                raise LabError(f"a note of client {client} cannot be read: '{line}'", "record it again") from None
    return Ledger([*sent.values()], seen, rows_each, [*definitions.values()], defines, replicated)


def _note_transaction(kind: str, key: tuple[int, int], time: int, sent: dict[tuple[int, int], Transaction]) -> None:
    match kind:
        case "S":
            sent[key] = Transaction(client=key[0], number=key[1], sent=time)
        case "P":
            sent[key] = replace(sent[key], prepared=time)
        case "A":
            sent[key] = replace(sent[key], acknowledged=time)
        case "F":
            sent[key] = replace(sent[key], refused=True)
        case _:
            raise ValueError(kind)


def _note_definition(kind: str, number: int, time: int, definitions: dict[int, Definition]) -> None:
    if kind == "D":
        definitions[number] = Definition(number, time)
    else:
        definitions[number] = Definition(number, definitions[number].sent, time)
