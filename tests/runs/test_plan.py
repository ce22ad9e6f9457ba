"""Plans as data: every combination once, in an order that a seed repeats; and how long they take."""

from __future__ import annotations

from itertools import pairwise, product

import msgspec

from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.combinations import crossed, one_at_a_time
from redolab.runs.estimate import NOTHING_KNOWN, Experience, in_words
from redolab.runs.plan import Order, draw_in_blocks, draw_plan, last_positions, remaining
from redolab.runs.plan_table import plan_table
from redolab.runs.room import Needs
from redolab.storage.catalogue import storage_profile
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
    assert last_positions(plan, range(36)) == {0: 17, 1: 35}
    assert len({each.step.storage for each in plan.steps[:4]}) > 1


def in_blocks(seed: int = 7, *, keep: bool = True) -> CrashPlan:
    """Three blocks of the same four crashes."""
    blocks = [
        [
            (PlannedCrash(server=f"{name}-{block}", spec=image().spec), STEPS[:2])
            for name, _ in product("abcd", range(1))
        ]
        for block in range(3)
    ]
    return draw_in_blocks(blocks, repeat=2, seed=seed, conditions=CONDITIONS, keep=keep)


def test_in_blocks_a_block_is_ended_before_the_next_begins_whether_or_not_anything_is_kept() -> None:
    plan = in_blocks()
    assert plan.order is Order.BLOCKS
    assert plan.blocks == (1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)
    # One crash after the other: what was loaded is recovered before the next is.
    assert [each.group for each in plan.steps] == [group for group in range(12) for _ in range(4)]
    names = [group.server for group in plan.groups]
    for block in range(3):
        of_block = names[4 * block : 4 * block + 4]
        assert sorted(of_block) == [f"{name}-{block}" for name in "abcd"]
    orders = {"".join(name[0] for name in names[4 * block : 4 * block + 4]) for block in range(3)}
    assert len(orders) > 1
    assert in_blocks(keep=False).steps == plan.steps
    assert in_blocks(keep=False).groups == plan.groups
    assert in_blocks() == plan
    assert in_blocks(8).groups != plan.groups
    assert not plan.mixes_groups
    assert msgspec.json.decode(msgspec.json.encode(plan), type=CrashPlan) == plan


def test_as_given_nothing_is_drawn() -> None:
    crashes = [(PlannedCrash(server=name, spec=image().spec), STEPS) for name in SERVERS]
    plan = draw_plan(crashes, repeat=2, seed=7, conditions=CONDITIONS, order=Order.GIVEN)
    assert [(each.group, each.repeat, each.step) for each in plan.steps] == [
        (group, number, step) for group in (0, 1) for step in STEPS for number in (1, 2)
    ]
    assert not plan.mixes_groups


def test_only_where_the_order_is_drawn_among_all_and_all_is_kept_all_groups_are_made_first() -> None:
    assert drawn().mixes_groups
    assert not drawn(keep=False).mixes_groups


def test_a_plan_that_was_kept_before_it_said_its_order_is_read() -> None:
    kept = msgspec.to_builtins(drawn())
    del kept["order"], kept["blocks"]
    assert msgspec.convert(kept, CrashPlan) == drawn()


def test_the_plan_is_shown_with_its_order() -> None:
    shown = plan_table(in_blocks(), {}, Needs())
    assert shown.headings[0] == ("block", True)
    assert "3 blocks, one after the other; the order in each is drawn with SEED=7: " in " ".join(shown.notes)
    assert "The order is drawn with SEED=7: " in " ".join(plan_table(drawn(), {}, Needs()).notes)
    one_by_one = " ".join(plan_table(drawn(keep=False), {}, Needs()).notes)
    assert "One group after the other; the order in each is drawn with SEED=7: " in one_by_one
    crashes = [(PlannedCrash(server=name, spec=image().spec), STEPS) for name in SERVERS]
    given = draw_plan(crashes, repeat=2, seed=7, conditions=CONDITIONS, order=Order.GIVEN)
    assert "The order is as given: " in " ".join(plan_table(given, {}, Needs()).notes)


def test_what_only_some_steps_have_is_a_dash_at_the_others() -> None:
    changed = PlannedRecovery(storage="native", pool=POOLS[0], settings="innodb_doublewrite=0")
    crashes = [
        (PlannedCrash(server="mysql-9", spec=image().spec), [STEPS[0], changed]),
        (PlannedCrash(server="mysql-9", spec=image().spec), [STEPS[0]]),
    ]
    shown = plan_table(draw_plan(crashes, repeat=1, seed=7, conditions=CONDITIONS, keep=False), {}, Needs())
    place = [heading for heading, _ in shown.headings].index("settings")
    said = [set(cells[place].split(", ")) for cells in shown.cells]
    assert said == [{"–", "innodb_doublewrite=0"}, {"–"}]


def test_a_plan_is_data_and_what_is_done_is_not_done_again() -> None:
    plan = drawn()
    assert msgspec.json.decode(msgspec.json.encode(plan), type=CrashPlan) == plan
    assert remaining(plan, set(range(10))) == list(range(10, 36))
    assert remaining(plan, set(range(36))) == []


def test_how_long_it_takes_is_told_from_what_is_closest() -> None:
    steps = [each for each in STEPS if each.storage != "cloud-ssd"]
    crash = PlannedCrash(server="mariadb-10.11", spec=image().spec)
    plan: CrashPlan = draw_plan([(crash, steps)], repeat=2, seed=1, conditions=CONDITIONS)
    positions = range(len(plan.steps))
    assert Experience().estimate(plan, positions, [0]) is None
    assert in_words(None) == NOTHING_KNOWN

    experience = Experience()
    for pool, took in ((POOLS[0], 5.0), (POOLS[1], 9.0)):
        experience.learn(PlannedRecovery(storage="native", pool=pool).cost_keys(crash.cost_keys()), took)
    experience.learn(crash.cost_keys(), 1.5)
    estimate = experience.estimate(plan, positions, [0])
    assert estimate is not None
    # Two on native with each pool, four on hdd of which nothing is known: their mean; and 1.5 s for the crash.
    assert (estimate.parts, estimate.unknown) == (9, 4)
    assert estimate.in_words().endswith("(a guess for 4 of 9 parts)")
    assert estimate.seconds == 2 * 5.0 + 2 * 9.0 + 4 * 7.0 + 1.5

    # Another server's recovery on that storage is better than nothing.
    other = PlannedCrash(server="mysql-9", spec=msgspec.structs.replace(image().spec, threads=1))
    experience.learn(PlannedRecovery(storage="hdd", pool=POOLS[0]).cost_keys(other.cost_keys()), 100.0)
    on_hdd = [position for position in positions if plan.steps[position].step.storage == "hdd"]
    again = experience.estimate(plan, on_hdd, [])
    assert again is not None
    assert (again.seconds, again.unknown) == (400.0, 0)


def test_all_combinations_or_one_factor_at_a_time() -> None:
    values = {"a": (1, 2, 3), "b": (10, 20)}
    assert len(crossed(values)) == 6
    assert one_at_a_time(values) == [
        {"a": 1, "b": 10}, {"a": 2, "b": 10}, {"a": 3, "b": 10}, {"a": 1, "b": 20},
    ]  # fmt: skip
