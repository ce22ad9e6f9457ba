"""Plans as data: every combination once, in an order that a seed repeats; and how long they take."""

from __future__ import annotations

from itertools import pairwise, product

import msgspec

from redolab.crashes.bench import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.combinations import crossed, one_at_a_time
from redolab.runs.estimate import NOTHING_KNOWN, Experience, in_words
from redolab.runs.plan import draw_plan, last_places, remaining
from redolab.storage.known import storage_profile
from redolab.units import MIB
from tests.examples import image

SERVERS = ("mariadb-10.11", "mysql-9")
POOLS = (128 * MIB, 64 * MIB)
STORAGES = ("native", "hdd", "cloud-ssd")
STEPS = [PlannedRecovery(storage=storage, pool=pool) for storage, pool in product(STORAGES, POOLS)]
CONDITIONS = CrashConditions(storages={name: storage_profile(name) for name in STORAGES})


def drawn(seed: int = 7, *, keep: bool = True) -> CrashPlan:
    crashes = [(PlannedCrash(server=name, spec=image().spec), STEPS) for name in SERVERS]
    return draw_plan(crashes, repeat=3, seed=seed, conditions=CONDITIONS, keep=keep)


def test_every_combination_is_there_once_in_an_order_that_the_seed_repeats() -> None:
    plan = drawn()
    wanted = set(product((0, 1), STEPS, (1, 2, 3)))
    assert len(plan.steps) == len(wanted) == 36
    assert {(each.group, each.step, each.repeat) for each in plan.steps} == wanted
    assert drawn() == plan
    assert drawn(8).steps != plan.steps
    # Neither a storage nor a server comes in one piece.
    for names in ([each.step.storage for each in plan.steps], [each.group for each in plan.steps]):
        changes = sum(before != after for before, after in pairwise(names))
        assert changes > 10


def test_without_room_to_keep_anything_one_crash_comes_after_the_other() -> None:
    plan = drawn(keep=False)
    assert [each.group for each in plan.steps] == [0] * 18 + [1] * 18
    assert last_places(plan, range(36)) == {0: 17, 1: 35}
    assert len({each.step.storage for each in plan.steps[:4]}) > 1


def test_a_plan_is_data_and_what_is_done_is_not_done_again() -> None:
    plan = drawn()
    assert msgspec.json.decode(msgspec.json.encode(plan), type=CrashPlan) == plan
    assert remaining(plan, set(range(10))) == list(range(10, 36))
    assert remaining(plan, set(range(36))) == []


def test_how_long_it_takes_is_told_from_what_is_most_alike() -> None:
    steps = [each for each in STEPS if each.storage != "cloud-ssd"]
    crash = PlannedCrash(server="mariadb-10.11", spec=image().spec)
    plan: CrashPlan = draw_plan([(crash, steps)], repeat=2, seed=1, conditions=CONDITIONS)
    places = range(len(plan.steps))
    assert Experience().estimate(plan, places, [0]) is None
    assert in_words(None) == NOTHING_KNOWN

    experience = Experience()
    for pool, took in ((POOLS[0], 5.0), (POOLS[1], 9.0)):
        experience.learn(PlannedRecovery(storage="native", pool=pool).alike(crash.alike()), took)
    experience.learn(crash.alike(), 1.5)
    estimate = experience.estimate(plan, places, [0])
    assert estimate is not None
    # Two on native with each pool, four on hdd of which nothing is known: their mean; and 1.5 s for the crash.
    assert (estimate.parts, estimate.unknown) == (9, 4)
    assert estimate.in_words().endswith("(a guess for 4 of 9 parts)")
    assert estimate.seconds == 2 * 5.0 + 2 * 9.0 + 4 * 7.0 + 1.5

    # Another server's recovery on that storage is better than nothing.
    other = PlannedCrash(server="mysql-9", spec=msgspec.structs.replace(image().spec, threads=1))
    experience.learn(PlannedRecovery(storage="hdd", pool=POOLS[0]).alike(other.alike()), 100.0)
    on_hdd = [place for place in places if plan.steps[place].step.storage == "hdd"]
    again = experience.estimate(plan, on_hdd, [])
    assert again is not None
    assert (again.seconds, again.unknown) == (400.0, 0)


def test_all_combinations_or_one_factor_at_a_time() -> None:
    values = {"a": (1, 2, 3), "b": (10, 20)}
    assert len(crossed(values)) == 6
    assert one_at_a_time(values) == [
        {"a": 1, "b": 10}, {"a": 2, "b": 10}, {"a": 3, "b": 10}, {"a": 1, "b": 20},
    ]  # fmt: skip
