"""States of a power cut against a plain model of a disk: sector by sector, event by event, without a clever line."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from redolab.powercut.recording import DiskEvent, Recording
from redolab.powercut.states import SECTOR, History, PowerCut, Survivors, survivors_of
from tests.powercut.recordings import recording_of

_SECTORS = 12
_RECORDINGS = 24
_EVENTS = 120
"""Places in each recording; at each of them every kind of survivors is compared."""


def _drawn(draw: random.Random) -> Recording:
    """Requests at random places, answered in any order."""
    requests: list[tuple[DiskEvent, int, int, int]] = []
    order: list[int] = []
    in_flight: list[int] = []
    data = 0
    while len(order) < _EVENTS:
        if in_flight and draw.random() < 0.5:
            order.append(-in_flight.pop(draw.randrange(len(in_flight))))
            continue
        kind = draw.choices([DiskEvent.WRITE, DiskEvent.FLUSH, DiskEvent.ZERO, DiskEvent.TRIM], [12, 4, 1, 1])[0]
        first, count = draw.randrange(_SECTORS - 3), draw.randint(1, 3)
        if kind is DiskEvent.FLUSH:
            requests.append((kind, 0, 0, 0))
        else:
            requests.append((kind, first * SECTOR, count * SECTOR, data if kind is DiskEvent.WRITE else 0))
            data += count * SECTOR if kind is DiskEvent.WRITE else 0
        order.append(len(requests))
        in_flight.append(len(requests))
    return recording_of(requests, order)


def _is_durable(recording: Recording, number: int, place: int, *, volatile: bool) -> bool:
    if not volatile:
        return bool(recording.answered[number] <= place)
    return any(
        recording.event[flush] == DiskEvent.FLUSH
        and recording.asked[flush] >= recording.answered[number]
        and recording.answered[flush] <= place
        for flush in range(len(recording.event))
    )


def _plain(recording: Recording, surviving: set[int], place: int) -> dict[int, int]:
    """Sector → where its bytes are: what came before, in the order of arrival, but for what is lost."""
    disk: dict[int, int] = {}
    for number in range(len(recording.event)):
        if recording.event[number] == DiskEvent.FLUSH or recording.asked[number] >= place or number not in surviving:
            continue
        for place_in_it in range(int(recording.length[number]) // SECTOR):
            sector = int(recording.offset[number]) // SECTOR + place_in_it
            is_write = recording.event[number] == DiskEvent.WRITE
            disk[sector] = int(recording.data[number]) // SECTOR + place_in_it if is_write else -2
    return disk


def _as_plain(history: History, sources: Sequence[int]) -> dict[int, int]:
    return {int(sector): source for sector, source in zip(history.sectors, sources, strict=True) if source != -1}


@pytest.mark.parametrize("volatile", [True, False])
def test_states_are_what_a_plain_disk_would_hold(volatile: bool) -> None:
    draw = random.Random(1)
    for seed in range(_RECORDINGS // 2):
        recording = _drawn(draw)
        history = History(recording, volatile=volatile)
        for place in range(0, recording.places + 1, 7):
            came = [n for n in recording.changes.tolist() if recording.asked[n] < place]
            durable = {n for n in came if _is_durable(recording, n, place, volatile=volatile)}
            at_risk = [n for n in came if n not in durable]
            assert history.at_risk(place).tolist() == at_risk
            for kind in Survivors:
                if kind is Survivors.TORN:
                    continue
                cut = PowerCut(place=place, survivors=kind, seed=seed)
                surviving = durable | set(survivors_of(at_risk, cut))
                found = _as_plain(history, history.state(cut).sources.tolist())
                assert found == _plain(recording, surviving, place), (seed, place, kind)


def test_of_a_torn_write_each_sector_is_the_old_or_the_new_one() -> None:
    draw = random.Random(2)
    seen: set[bool] = set()
    for seed in range(60):
        history = History(recording := _drawn(draw))
        place = recording.places
        none, all_of_it, torn = (
            history.state(PowerCut(place=place, survivors=kind, seed=seed)).sources
            for kind in (Survivors.NONE, Survivors.ALL, Survivors.TORN)
        )
        came = [n for n in recording.changes.tolist() if recording.asked[n] < place]
        durable = set(came) - set(history.at_risk(place).tolist())
        for position, sector in enumerate(history.sectors.tolist()):
            possible = {-1} if not any(_covers(recording, n, sector) for n in durable) else set()
            for number in came:
                if _covers(recording, number, sector):
                    source = _source(recording, number, sector)
                    possible = {source} if number in durable else possible | {source}
            assert torn[position] in possible
            seen |= {bool(torn[position] == none[position]), bool(torn[position] == all_of_it[position])}
    assert seen == {True, False}


def test_a_state_without_what_a_cut_takes_is_the_state_that_the_cut_leaves() -> None:
    draw = random.Random(4)
    for seed in range(40):
        history = History(recording := _drawn(draw))
        for kind in Survivors:
            cut = PowerCut(place=draw.randrange(recording.places + 1), survivors=kind, seed=seed)
            losses = history.losses(cut)
            assert history.state_without(cut.place, losses).hash == history.state(cut).hash
            assert {each.number for each in losses} <= set(history.at_risk(cut.place).tolist())
            if kind is Survivors.ALL:
                assert losses == []


def test_from_when_on_a_write_is_safe() -> None:
    write, flush = (DiskEvent.WRITE, 0, SECTOR, 0), (DiskEvent.FLUSH, 0, 0, 0)
    assert History(recording_of([write, flush], [1, -1, 2, -2])).at_risk_until(0) == 4
    assert History(recording_of([write], [1, -1])).at_risk_until(0) > 10**9


def test_a_flush_covers_what_was_answered_before_it_came_and_holds_from_its_own_answer() -> None:
    write, flush = (DiskEvent.WRITE, 0, SECTOR, 0), (DiskEvent.FLUSH, 0, 0, 0)
    late = History(recording_of([write, flush], [1, 2, -1, -2]))
    assert late.at_risk(4).tolist() == [0]
    covered = History(recording_of([write, flush], [1, -1, 2, -2]))
    assert [covered.at_risk(place).tolist() for place in range(5)] == [[], [0], [0], [0], []]


def test_a_write_that_was_never_answered_may_be_there_even_without_a_volatile_cache() -> None:
    history = History(recording_of([(DiskEvent.WRITE, 0, SECTOR, 0)], [1]), volatile=False)
    hashes = {history.state(PowerCut(place=1, survivors=kind)).hash for kind in (Survivors.NONE, Survivors.ALL)}
    assert len(hashes) == 2


def _covers(recording: Recording, number: int, sector: int) -> bool:
    first = int(recording.offset[number]) // SECTOR
    return first <= sector < first + int(recording.length[number]) // SECTOR


def _source(recording: Recording, number: int, sector: int) -> int:
    if recording.event[number] != DiskEvent.WRITE:
        return -2
    return int(recording.data[number]) // SECTOR + sector - int(recording.offset[number]) // SECTOR
