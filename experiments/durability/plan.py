"""The plan: recordings of each cell, and of each recording states, some sampled and some searched."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.powercut.encryption import can_encrypt
from redolab.powercut.guest.machine import check_server
from redolab.powercut.guest.parts import check_guests
from redolab.runs.plan import plan_as_given
from redolab.servers.catalogue import server_catalogue

from .cells import VARIATIONS, Cell
from .factors import Factors
from .planned import DurabilityConditions, DurabilityPlan, PlannedCuts, PlannedRecording
from .trial import Cuts

_BATCH = 10
"""Cuts of a step: what is lost at most of one that is interrupted."""


def plan(factors: Factors, lab: Lab) -> DurabilityPlan:
    """The plan, one recording after the other: each is gone when its states have been recovered. Raises `LabError`."""
    factors.check()
    _check_guests(factors.cells())
    cells, left_out = _possible(factors.cells())
    if left_out and not cells:
        raise InvalidInput(f"{left_out[0][0].server}, {left_out[0][0].variation}: {left_out[0][1]}")
    for cell, why in left_out:
        lab.progress.note(f"{cell.server}, {cell.variation}, is left out: {why}")
    groups = [
        (PlannedRecording(cell=cell, number=number), _cuts(factors, cell))
        for cell in cells
        for number in range(1, factors.recordings + 1)
    ]
    conditions = DurabilityConditions(
        seconds=factors.seconds,
        clients=factors.clients,
        log_size=factors.log_size,
        pool=factors.pool,
        jobs=factors.jobs,
        explain=factors.explain,
        keep_cuts=factors.keep_cuts,
    )
    return plan_as_given(groups, seed=factors.drawn_seed(), conditions=conditions)


def _possible(cells: Sequence[Cell]) -> tuple[list[Cell], list[tuple[Cell, str]]]:
    """The cells that the lab can have, and the others with the reason."""
    why_not = [(cell, _why_not(cell)) for cell in cells]
    return [cell for cell, why in why_not if not why], [(cell, why) for cell, why in why_not if why]


def _why_not(cell: Cell) -> str:
    variation = VARIATIONS[cell.variation]
    if variation.encrypted and not can_encrypt(cell.server):
        return "of MySQL only 8.0.24 and later can be encrypted here, of MariaDB those of Debian's packages"
    if variation.replica and cell.sync_binlog is None:
        return "a replica reads the binary log: BINARYLOG=1"
    if variation.truncates_undo and server_catalogue().get(cell.server).dialect().undo_truncation is None:
        return "undo tablespaces are truncated in MySQL 8.0.14 and later, and MariaDB 11.0 and later, alone"
    return ""


def _check_guests(cells: Sequence[Cell]) -> None:
    in_guests = [cell for cell in cells if VARIATIONS[cell.variation].host_cache is not None]
    if in_guests:
        check_guests()
    for cell in in_guests:
        check_server(cell.server)


def _cuts(factors: Factors, cell: Cell) -> list[PlannedCuts]:
    of_recording = max(2, factors.states // factors.recordings)
    found = []
    for kind, count in ((Cuts.SAMPLED, of_recording // 2), (Cuts.SEARCHED, of_recording - of_recording // 2)):
        batches = [_BATCH] * (count // _BATCH) + ([count % _BATCH] if count % _BATCH else [])
        found += [PlannedCuts(kind=kind, count=each, batch=number) for number, each in enumerate(batches, start=1)]
    if VARIATIONS[cell.variation].host_cache is not None:
        return [*found, PlannedCuts(kind=Cuts.MACHINE, count=1, batch=1)]
    # What a first cut has lost a SIGKILL in the recovery from it does not bring back.
    if VARIATIONS[cell.variation].twice:
        return found
    return [*found, PlannedCuts(kind=Cuts.KILLED, count=1, batch=1)]
