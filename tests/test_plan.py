"""Plans as data: every combination once, in an order that a seed repeats."""

from __future__ import annotations

from itertools import pairwise, product

import msgspec

from redolab.estimate import Experience
from redolab.lab import storage_profile
from redolab.plan import PlannedCrash, PlannedRecovery, RecoveryPlan, crash_stretches, draw_plan, remaining
from redolab.units import MIB
from tests.examples import image, trial

CRASHES = [
    PlannedCrash(server=name, spec=image().spec, pools=(128 * MIB, 64 * MIB)) for name in ("mariadb-10.11", "mysql-9")
]
STORAGES = {name: storage_profile(name) for name in ("native", "hdd", "cloud-ssd")}


def drawn(seed: int = 7, *, keep: bool = True) -> RecoveryPlan:
    return draw_plan(CRASHES, STORAGES, 3, seed, keep=keep)


def test_every_combination_is_there_once_in_an_order_that_the_seed_repeats() -> None:
    plan = drawn()
    wanted = {
        PlannedRecovery(crash=crash, storage=storage, pool=pool, repeat=repeat)
        for crash, storage, pool, repeat in product((0, 1), STORAGES, CRASHES[0].pools, (1, 2, 3))
    }
    assert len(plan.recoveries) == len(wanted) == 36
    assert set(plan.recoveries) == wanted
    assert drawn() == plan
    assert drawn(8).recoveries != plan.recoveries
    # Neither a storage nor a server comes in one piece.
    for names in ([each.storage for each in plan.recoveries], [each.crash for each in plan.recoveries]):
        changes = sum(before != after for before, after in pairwise(names))
        assert changes > 10


def test_without_room_to_keep_anything_one_crash_comes_after_the_other() -> None:
    plan = drawn(keep=False)
    assert [each.crash for each in plan.recoveries] == [0] * 18 + [1] * 18
    assert crash_stretches(plan.recoveries) == {0: (0, 17), 1: (18, 35)}
    assert len({each.storage for each in plan.recoveries[:4]}) > 1


def test_a_plan_is_data_and_what_is_done_is_not_done_again() -> None:
    plan = drawn()
    assert msgspec.json.decode(msgspec.json.encode(plan), type=RecoveryPlan) == plan
    done = set(plan.recoveries[:10])
    assert remaining(plan, done) == list(plan.recoveries[10:])
    assert remaining(plan, set(plan.recoveries)) == []


def test_how_long_it_takes_is_told_from_what_is_most_alike() -> None:
    plan = draw_plan(CRASHES[:1], {name: STORAGES[name] for name in ("native", "hdd")}, 2, 1)
    assert Experience([], []).estimate(plan, plan.recoveries, [0]) is None
    known = msgspec.structs.replace(trial(), took=5.0)
    other_pool = msgspec.structs.replace(known, buffer_pool=64 * MIB, took=9.0)
    estimate = Experience([known, other_pool, trial()], [image()]).estimate(plan, plan.recoveries, [0])
    assert estimate is not None
    # Two on native with each pool, four on hdd of which nothing is known: their mean; and 1.5 s for the fill.
    assert (estimate.recoveries, estimate.unknown) == (8, 4)
    assert estimate.seconds == 2 * 5.0 + 2 * 9.0 + 4 * 7.0 + 1.5

    learning = Experience([], [])
    learning.learn(msgspec.structs.replace(known, storage="hdd", server="mysql-9", took=100.0))
    again = learning.estimate(plan, [each for each in plan.recoveries if each.storage == "hdd"], [])
    assert again is not None
    assert (again.seconds, again.unknown) == (400.0, 0)
