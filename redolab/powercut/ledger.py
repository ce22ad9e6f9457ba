"""The ledger: what clients sent, what was acknowledged to them, and whether a recovered server has what it promised.

A commit without an answer is unknown: either outcome is right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from redolab.errors import LabError

_NANOSECONDS = 1e9


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
    """What another session read: transactions of a client up to a number, and when it had the answer."""

    client: int
    number: int
    time: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """All that clients noted."""

    transactions: Sequence[Transaction]
    seen: Sequence[Seen]
    parts: int
    """Rows of each transaction."""

    @property
    def acknowledgements(self) -> list[int]:
        """Their times, in order."""
        return sorted(each.acknowledged for each in self.transactions if each.acknowledged is not None)


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


class LedgerVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a recovered server holds beside what it should; counts of transactions."""

    acknowledged: int
    """Before the cut."""
    lost: int
    """Acknowledged before the cut, and not there."""
    seconds_back: float
    """From the cut to the acknowledgement of the oldest that is lost; 0 where none is."""
    holes: int
    """Not there, though one that was sent after its acknowledgement is: of the same client, or of another."""
    torn: int
    """There in part."""
    wrong: int
    """There, though nobody had sent it, or it had been refused."""
    money: int
    """By how much the sum of all accounts has changed, which no transaction does."""
    seen_then_lost: int
    """Clients of whom another session had read more than is there."""
    only_in_tables: int = 0
    """Transactions that a replica would never get."""
    only_in_binary_log: int = 0
    """Transactions that a replica would have, and this server has not."""
    unknown: int
    """Sent before the cut and never answered: they may be there or not."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing that is there contradicts itself: transactions are there whole, in order, and none that was never sent."""
        return not (self.holes or self.torn or self.wrong or self.money)

    @property
    def agrees_with_binary_log(self) -> bool:
        """Whether tables and binary log hold the same; so where it is off."""
        return not (self.only_in_tables or self.only_in_binary_log)

    @property
    def keeps_its_promise(self) -> bool:
        """Whether no acknowledged commit is lost either."""
        return self.is_whole and not self.lost


def judged(ledger: Ledger, cut: int, found: Found) -> LedgerVerdict:
    """What a server holds that was recovered from a cut at that time (nanoseconds of CLOCK_MONOTONIC)."""
    there = set(found.parts)
    sent = {(each.client, each.number): each for each in ledger.transactions if each.sent <= cut and not each.refused}
    known = [each for each in sent.values() if each.acknowledged is not None and each.acknowledged <= cut]
    lost = [each for each in known if (each.client, each.number) not in there]
    times = [each.acknowledged for each in lost if each.acknowledged is not None]
    present = [sent[key] for key in there if key in sent]
    logged = there if found.logged is None else found.logged
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
        unknown=len(sent) - len(known),
    )


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


def read_ledger(folder: Path, parts: int) -> Ledger:
    """What clients noted in a folder, a file for each. Raises `LabError` if a note cannot be read."""
    sent: dict[tuple[int, int], Transaction] = {}
    seen: list[Seen] = []
    for path in sorted(folder.iterdir()):
        client = int(path.name)
        for line in path.read_text().splitlines():
            try:
                what, told, time = line.split()
                _take(what, client, told, int(time), sent, seen)
            except (ValueError, KeyError):
                raise LabError(f"a note of client {client} cannot be read: '{line}'", "record it again") from None
    return Ledger([*sent.values()], seen, parts)


def _take(
    what: str, client: int, told: str, time: int, sent: dict[tuple[int, int], Transaction], seen: list[Seen]
) -> None:
    if what == "R":
        whose, _, number = told.partition(":")
        seen.append(Seen(int(whose), int(number), time))
        return
    key = (client, int(told))
    match what:
        case "S":
            sent[key] = Transaction(client=client, number=key[1], sent=time)
        case "A":
            sent[key] = Transaction(client=client, number=key[1], sent=sent[key].sent, acknowledged=time)
        case "F":
            sent[key] = Transaction(client=client, number=key[1], sent=sent[key].sent, refused=True)
        case _:
            raise ValueError(what)
