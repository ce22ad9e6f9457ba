"""The ledger: what clients sent, what was acknowledged to them, and whether a recovered server has what it promised.

A commit without an answer is unknown: either outcome is right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from redolab.errors import LabError
from redolab.workloads.data import LEFT_BY, Defines, Rows, TableCheck

_NANOSECONDS = 1e9
REPLICA = "replica"
"""The file of what a replica has noted, among those of the clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """One transaction as its client noted it; times in nanoseconds of CLOCK_MONOTONIC."""

    client: int
    number: int
    sent: int
    """Before its first statement."""
    acknowledged: int | None = None
    """After its commit; None where no answer came."""
    refused: bool = False
    """Whether the server said that it had rolled it back."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What another session read: transactions of a client up to a number, and when it had the answer; of a replica: that one."""

    client: int
    number: int
    time: int


@dataclass(frozen=True, slots=True)
class Definition:
    """A statement that defines a table, by its number in its client's order; times as of `Transaction`."""

    number: int
    sent: int
    acknowledged: int | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """All that clients noted."""

    transactions: Sequence[Transaction]
    seen: Sequence[Seen]
    parts: int
    """Rows of each transaction."""
    definitions: Sequence[Definition] = ()
    """In the order of their numbers."""
    defines: Defines = Defines.NOTHING
    """Which statements these are."""
    replicated: Sequence[Seen] = ()
    """Transactions that a replica had got of the binary log, and when."""

    @property
    def acknowledgements(self) -> list[int]:
        """Their times, in order, of transactions and of statements that define."""
        told = [*(each.acknowledged for each in self.transactions), *(each.acknowledged for each in self.definitions)]
        return sorted(time for time in told if time is not None)


@dataclass(frozen=True, slots=True)
class Found:
    """What a recovered server holds."""

    parts: Mapping[tuple[int, int], int]
    """Client and number of a transaction → how many of its rows are there."""
    balance: int
    """Of all accounts together."""
    balance_at_first: int
    logged: frozenset[tuple[int, int]] | None = None
    """Transactions that are in the binary log; None where it is off."""
    defined: Rows = None
    """Of the table that a client defines."""
    unreadable: str = ""
    """What the server said instead of these rows."""


class Fault(StrEnum):
    """What is wrong with what a recovered server holds; the gravest first."""

    BROKEN = "left what contradicts itself"
    LOST = "lost acknowledged commits"
    APART = "left other transactions in the binary log than in the tables"
    AHEAD = "left a replica with transactions that the server has not"


class LedgerVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a recovered server holds beside what it should; counts of transactions."""

    acknowledged: int
    """Before the cut."""
    lost: int = 0
    """Acknowledged before the cut, and not there."""
    seconds_back: float = 0.0
    """From the cut to the acknowledgement of the oldest that is lost; 0 where none is."""
    holes: int = 0
    """Not there, though one that was sent after its acknowledgement is: of the same client, or of another."""
    torn: int = 0
    """There in part."""
    wrong: int = 0
    """There, though nobody had sent it, or it had been refused."""
    money: int = 0
    """By how much the sum of all accounts has changed, which no transaction does."""
    seen_then_lost: int = 0
    """Clients of whom another session had read more than is there."""
    only_in_tables: int = 0
    """Transactions that a replica would never get."""
    only_in_binary_log: int = 0
    """Transactions that a replica would have, and this server has not."""
    only_on_replica: int = 0
    """Transactions that a replica had got before the cut, and this server has not."""
    unknown: int = 0
    """Sent before the cut and never answered: they may be there or not."""
    defining: bool = False
    """Whether a statement that defines a table was under way."""
    definitions_lost: int = 0
    """Statements that define a table, acknowledged before the cut, and undone."""
    misdefined: str = ""
    """What the table that a client defines is like, or says, if none of these statements left it so; else empty."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing that is there contradicts itself: transactions are there whole, in order, and none that was never sent."""
        return not (self.holes or self.torn or self.wrong or self.money or self.misdefined)

    @property
    def agrees_with_binary_log(self) -> bool:
        """Whether tables and binary log hold the same; so where it is off."""
        return not (self.only_in_tables or self.only_in_binary_log)


def faults_of(verdict: LedgerVerdict | None, failed: Sequence[TableCheck]) -> list[Fault]:
    """All that is wrong, whatever was promised; `verdict`: None of a server that did not come up, `failed`: what else is not right."""
    if verdict is None:
        return [Fault.BROKEN]
    found = {
        Fault.BROKEN: bool(failed) or not verdict.is_whole,
        Fault.LOST: bool(verdict.lost or verdict.definitions_lost),
        Fault.APART: not verdict.agrees_with_binary_log,
        Fault.AHEAD: verdict.only_on_replica > 0,
    }
    return [fault for fault, is_there in found.items() if is_there]


def judged(ledger: Ledger, cut: int, found: Found) -> LedgerVerdict:
    """What a server holds that was recovered from a cut at that time (nanoseconds of CLOCK_MONOTONIC)."""
    there = set(found.parts)
    sent = {(each.client, each.number): each for each in ledger.transactions if each.sent <= cut and not each.refused}
    known = [each for each in sent.values() if each.acknowledged is not None and each.acknowledged <= cut]
    lost = [each for each in known if (each.client, each.number) not in there]
    times = [each.acknowledged for each in lost if each.acknowledged is not None]
    present = [sent[key] for key in there if key in sent]
    logged = there if found.logged is None else found.logged
    undone = None if found.unreadable else _undone(ledger, cut, found.defined)
    return LedgerVerdict(
        acknowledged=len(known),
        lost=len(lost),
        seconds_back=(cut - min(times)) / _NANOSECONDS if times else 0.0,
        holes=_holes(sent, present, lost, there),
        torn=sum(count != ledger.parts for count in found.parts.values()),
        wrong=sum(key not in sent for key in there),
        money=abs(found.balance - found.balance_at_first),
        seen_then_lost=_seen_then_lost(ledger, cut, there),
        only_in_tables=len(there - logged),
        only_in_binary_log=len(logged - there),
        only_on_replica=sum(each.time <= cut and (each.client, each.number) not in there for each in ledger.replicated),
        unknown=len(sent) - len(known),
        defining=any(_is_under_way(each, cut) for each in ledger.definitions),
        definitions_lost=undone or 0,
        misdefined=found.unreadable or ("" if undone is not None else _in_words(found.defined)),
    )


def _is_under_way(definition: Definition, cut: int) -> bool:
    return definition.sent <= cut and (definition.acknowledged is None or definition.acknowledged > cut)


def _undone(ledger: Ledger, cut: int, found: Rows) -> int | None:
    """How many of the acknowledged statements are undone; None if neither these nor one under way left what is there."""
    left_by = LEFT_BY[ledger.defines]

    def rows(number: int) -> Rows:
        # Before the first of them there is no table.
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
    last_of: dict[int, int] = defaultdict(int)
    for each in present:
        last_of[each.client] = max(last_of[each.client], each.number)
    missing = {key for key in sent if key not in there and key[1] < last_of[key[0]]}
    latest = max((each.sent for each in present), default=0)
    # Who sent after an acknowledgement may have acted on it.
    missing |= {
        (each.client, each.number) for each in lost if each.acknowledged is not None and each.acknowledged < latest
    }
    return len(missing)


def _seen_then_lost(ledger: Ledger, cut: int, there: set[tuple[int, int]]) -> int:
    seen: dict[int, int] = defaultdict(int)
    for each in ledger.seen:
        if each.time <= cut:
            seen[each.client] = max(seen[each.client], each.number)
    last: dict[int, int] = defaultdict(int)
    for client, number in there:
        last[client] = max(last[client], number)
    return sum(number > last[client] for client, number in seen.items())


def read_ledger(folder: Path, parts: int, defines: Defines = Defines.NOTHING) -> Ledger:
    """What clients noted in a folder, a file for each. Raises `LabError` if a note cannot be read."""
    sent: dict[tuple[int, int], Transaction] = {}
    seen: list[Seen] = []
    replicated: list[Seen] = []
    definitions: dict[int, Definition] = {}
    for path in sorted(folder.iterdir()):
        client = 0 if path.name == REPLICA else int(path.name)
        for line in path.read_text().splitlines():
            try:
                what, told, time = line.split()
                match what:
                    case "R" | "B":
                        whose, _, number = told.partition(":")
                        read = seen if what == "R" else replicated
                        read.append(Seen(int(whose), int(number), int(time)))
                    case "D" | "E":
                        _take_definition(what, int(told), int(time), definitions)
                    case _:
                        _take(what, (client, int(told)), int(time), sent)
            except (ValueError, KeyError):
                raise LabError(f"a note of client {client} cannot be read: '{line}'", "record it again") from None
    return Ledger([*sent.values()], seen, parts, [*definitions.values()], defines, replicated)


def _take(what: str, key: tuple[int, int], time: int, sent: dict[tuple[int, int], Transaction]) -> None:
    match what:
        case "S":
            sent[key] = Transaction(client=key[0], number=key[1], sent=time)
        case "A":
            sent[key] = Transaction(client=key[0], number=key[1], sent=sent[key].sent, acknowledged=time)
        case "F":
            sent[key] = Transaction(client=key[0], number=key[1], sent=sent[key].sent, refused=True)
        case _:
            raise ValueError(what)


def _take_definition(what: str, number: int, time: int, definitions: dict[int, Definition]) -> None:
    if what == "D":
        definitions[number] = Definition(number, time)
    else:
        definitions[number] = Definition(number, definitions[number].sent, time)
