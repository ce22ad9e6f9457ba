"""Plans as data: every combination once, in an order that a seed repeats; and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise, product
from typing import Any

import msgspec
from msgspec.structs import replace

from redolab.crash.bench.crash_plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.crash.bench.planning import crash_blocks, load_of
from redolab.crash.records.kill_rule import KillRule, Uniform
from redolab.disks.catalogue import storage_profile
from redolab.project import PROJECT
from redolab.runs.estimate import Experience
from redolab.runs.plan import (
    Order,
    Plan,
    PlannedGroup,
    PlannedStep,
    draw_in_blocks,
    draw_plan,
    last_positions,
)
from redolab.units import MIB
from tests.examples import image

SERVERS = ("mariadb-10.11", "mysql-9")
POOLS = (128 * MIB, 64 * MIB)
STORAGES = ("local", "hdd", "gp3-3000")
STEPS = [PlannedRecovery(storage=storage, pool=pool) for storage, pool in product(STORAGES, POOLS)]
CRASHES: Sequence[tuple[PlannedCrash, Sequence[PlannedRecovery]]] = [
    (PlannedCrash(server=name, spec=image().spec), STEPS) for name in SERVERS
]
CONDITIONS = CrashConditions(storages={name: storage_profile(name) for name in STORAGES})


def drawn(seed: int = 7, *, keep: bool = True) -> CrashPlan:
    return draw_plan([CRASHES], repeat=3, seed=seed, conditions=CONDITIONS, keep=keep)


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


def groups_in_order(plan: Plan[Any, Any, Any]) -> list[int]:
    """The groups as they are measured; each once where one comes after the other."""
    return [group for group, _ in groupby(plan.steps, key=lambda each: each.group)]


def test_where_nothing_is_kept_crashes_come_one_after_the_other_in_a_drawn_order() -> None:
    names = "abcdef"
    crashes = [(PlannedCrash(server=name, spec=image().spec), STEPS) for name in names]
    plans = [draw_plan([crashes], repeat=3, seed=seed, conditions=CONDITIONS, keep=False) for seed in range(20)]
    for plan in plans:
        assert plan.order is Order.BLOCKS
        assert sorted(groups_in_order(plan)) == list(range(6))
        # What is shown, and the rows of its tables, are in the order that was asked for.
        assert [group.server for group in plan.groups] == list(names)
    assert len({groups_in_order(plan)[0] for plan in plans}) == 6
    plan = plans[0]
    assert last_positions(plan, range(len(plan.steps))) == {
        group: 18 * place + 17 for place, group in enumerate(groups_in_order(plan))
    }
    assert len({each.step.storage for each in plan.steps[:4]}) > 1


def test_several_crashes_of_each_configuration_are_interleaved_in_blocks_where_nothing_is_kept() -> None:
    numbered = [replace(image().spec, number=number) for number in (1, 2, 3)]
    crashes = [(PlannedCrash(server=name, spec=spec), STEPS) for name in "abcd" for spec in numbered]
    plan = draw_plan(crash_blocks(crashes), repeat=1, seed=7, conditions=CONDITIONS, keep=False, together=load_of)
    measured = [plan.groups[group] for group in groups_in_order(plan)]
    orders = []
    for block in (1, 2, 3):
        of_block = measured[4 * block - 4 : 4 * block]
        assert {crash.spec.number for crash in of_block} == {block}
        orders.append("".join(crash.server for crash in of_block))
    assert all(sorted(order) == list("abcd") for order in orders)
    assert len(set(orders)) > 1
    assert [plan.blocks[group] for group in groups_in_order(plan)] == [1] * 4 + [2] * 4 + [3] * 4


def test_crashes_of_one_load_follow_one_another() -> None:
    moments = KillRule(moment=Uniform(earliest=1.0, latest=2.0))
    numbered = [
        replace(image().spec, number=number, kill=moments, crash="freeze", threads=threads)
        for threads in (1, 2, 4)
        for number in (1, 2, 3)
    ]
    crashes = [(PlannedCrash(server="mysql-9", spec=spec), STEPS[:1]) for spec in numbered]
    plan = draw_plan(crash_blocks(crashes), repeat=1, seed=7, conditions=CONDITIONS, keep=False, together=load_of)
    loads = [plan.groups[group].spec.threads for group in groups_in_order(plan)]
    assert [threads for threads, _ in groupby(loads)] == list(dict.fromkeys(loads))
    assert loads != sorted(loads)
    assert set(plan.blocks) == {1}


def test_equal_crashes_that_share_no_load_need_not_follow_one_another() -> None:
    crashes = [(PlannedCrash(server=name, spec=image().spec), STEPS[:1]) for name in "aabcd"]
    assert load_of(crashes[0][0]) is None
    plans = [
        draw_in_blocks([crashes], repeat=1, seed=seed, conditions=CONDITIONS, together=load_of) for seed in range(20)
    ]
    apart = ["aa" not in "".join(plan.groups[group].server for group in groups_in_order(plan)) for plan in plans]
    assert any(apart)


def in_blocks(seed: int = 7, *, keep: bool = True) -> CrashPlan:
    """Three blocks of the same four crashes."""
    blocks = [
        [(PlannedCrash(server=f"{name}-{block}", spec=image().spec), STEPS[:2]) for name in "abcd"]
        for block in range(3)
    ]
    return draw_in_blocks(blocks, repeat=2, seed=seed, conditions=CONDITIONS, keep=keep)


def test_in_blocks_a_block_is_ended_before_the_next_begins_whether_or_not_anything_is_kept() -> None:
    plan = in_blocks()
    assert plan.order is Order.BLOCKS
    assert plan.blocks == (1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)
    # One crash after the other: what was loaded is recovered before the next is.
    order = groups_in_order(plan)
    assert len(order) == 12
    assert [plan.blocks[group] for group in order] == list(plan.blocks)
    orders = {tuple(group % 4 for group in order[start : start + 4]) for start in (0, 4, 8)}
    assert len(orders) > 1
    assert in_blocks(keep=False).steps == plan.steps
    assert in_blocks() == plan
    assert in_blocks(8).steps != plan.steps
    assert not plan.mixes_groups
    assert msgspec.json.decode(msgspec.json.encode(plan), type=CrashPlan) == plan


def test_every_committed_plan_says_how_its_order_was_drawn() -> None:
    paths = sorted(PROJECT.measured.glob("*/*/plan.json"))
    assert len(paths) > 100
    for path in paths:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan[PlannedGroup, PlannedStep, object])
        order = groups_in_order(plan)
        if plan.order is Order.RANDOM:
            assert plan.keep or len(plan.groups) == 1, path
        elif plan.order is Order.BLOCKS:
            assert [plan.blocks[group] for group in order] == sorted(plan.blocks), path
        else:
            assert order == list(range(len(plan.groups))), path


def test_how_long_it_takes_is_told_from_what_is_closest() -> None:
    steps = [each for each in STEPS if each.storage != "gp3-3000"]
    crash = PlannedCrash(server="mariadb-10.11", spec=image().spec)
    plan: CrashPlan = draw_plan([[(crash, steps)]], repeat=2, seed=1, conditions=CONDITIONS)
    positions = range(len(plan.steps))
    assert Experience().estimate(plan, positions, [0]) is None
    experience = Experience()
    for pool, took in ((POOLS[0], 5.0), (POOLS[1], 9.0)):
        experience.learn(PlannedRecovery(storage="local", pool=pool).cost_keys(crash.cost_keys()), took)
    experience.learn(crash.cost_keys(), 1.5)
    estimate = experience.estimate(plan, positions, [0])
    assert estimate is not None
    # Two on local with each pool, four on hdd of which nothing is known: their mean; and 1.5 s for the crash.
    assert (estimate.parts, estimate.unknown) == (9, 4)
    assert estimate.seconds == 2 * 5.0 + 2 * 9.0 + 4 * 7.0 + 1.5

    # Another server's recovery on that storage is better than nothing.
    other = PlannedCrash(server="mysql-9", spec=msgspec.structs.replace(image().spec, threads=1))
    experience.learn(PlannedRecovery(storage="hdd", pool=POOLS[0]).cost_keys(other.cost_keys()), 100.0)
    on_hdd = [position for position in positions if plan.steps[position].step.storage == "hdd"]
    again = experience.estimate(plan, on_hdd, [])
    assert again is not None
    assert (again.seconds, again.unknown) == (400.0, 0)
