"""Promises that manuals make of a setting, and the verdicts that break them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from redolab.powercut.cut_verdict import CutVerdict
from redolab.powercut.cuts import Cuts
from redolab.powercut.ledger import Fault

from .variations import variation_of

if TYPE_CHECKING:
    from .experiment import Recording

_OLD = 3
"""MariaDB's own value: syncs as before group commit."""
_SYNCS = (1, _OLD)
"""Values of innodb_flush_log_at_trx_commit with which every commit is synced."""
_IN_PAGE_CACHE = (*_SYNCS, 2)
"""Values with which every commit survives the death of the server."""


def promised(trx_commit: int, sync_binlog: int | None, variation: str) -> frozenset[Fault]:
    """Return the faults that a power cut must not leave with these settings; none where commits may be lost.

    The logs are written and flushed to disk at each transaction commit; with the binary log, also sync_binlog=1 is
    needed (MySQL 8.4 Reference Manual, innodb_flush_log_at_trx_commit and sync_binlog; MariaDB's has the same). With 3,
    InnoDB syncs at commit whatever sync_binlog is (MariaDB Knowledge Base, Binary Log Group Commit and InnoDB Flushing
    Performance).
    """
    if trx_commit not in _SYNCS or not variation_of(variation).obeys:
        return frozenset()
    if sync_binlog in (None, 1):
        # Neither manual promises that binary log and tables agree about XA.
        return frozenset(Fault) - ({Fault.APART} if variation_of(variation).xa else frozenset())
    return frozenset(Fault) - {Fault.APART} if trx_commit == _OLD else frozenset()


def unexpected(trx_commit: int, verdict: CutVerdict) -> list[Fault]:
    """Return the faults that the settings do not account for: values that do not sync may lose commits."""
    return [fault for fault in verdict.faults if trx_commit in _SYNCS or fault is Fault.BROKEN]


def findings(group: Recording, cuts: Cuts, verdicts: Sequence[CutVerdict]) -> list[str]:
    """Return a sentence for each kind of fault that breaks a promise or leaves a server broken."""
    if variation_of(group.variation).must_lose:
        return []
    promise = promised(group.trx_commit, group.sync_binlog, group.variation)
    if not promise and cuts is Cuts.KILLED and group.trx_commit in _IN_PAGE_CACHE:
        promise = frozenset(Fault)
    bad = {fault: [each for each in verdicts if fault in each.faults] for fault in promise | {Fault.BROKEN}}
    return [sentence(group, cuts, fault, bad[fault]) for fault in Fault if bad.get(fault)]


def sentence(group: Recording, cuts: Cuts, fault: Fault, verdicts: Sequence[CutVerdict]) -> str:
    """Return a sentence: which cuts have a fault, and how to make the first of them again."""
    first = verdicts[0]
    what = "SIGKILL" if cuts is Cuts.KILLED else f"{len(verdicts)} power cuts"
    return (
        f"{what} of {group.settings} {fault}, the first {first.moment} at {first.seconds:.3f} s "
        f"(survivors {first.cut.survivors}, seed {first.cut.seed})"
    )
