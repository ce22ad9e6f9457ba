"""What was measured in a fixed order is told from what was drawn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.confounded import confounded_with_time, is_in_fixed_order
from redolab.runs.pages import measured_runs
from redolab.runs.plan import Order, draw_plan
from redolab.storage.catalogue import storage_profile
from tests.examples import image

CONDITIONS = CrashConditions(storages={"native": storage_profile("native")})


def of_servers(*names: str) -> list[tuple[PlannedCrash, Sequence[PlannedRecovery]]]:
    return [(PlannedCrash(server=name, spec=image().spec), []) for name in names]


def planned(order: Order, blocks: tuple[tuple[str, ...], ...]) -> CrashPlan:
    names = [name for block in blocks for name in block]
    return CrashPlan(
        seed=1,
        groups=tuple(crash for crash, _ in of_servers(*names)),
        steps=(),
        keep=False,
        conditions=CONDITIONS,
        order=order,
        blocks=tuple(number for number, block in enumerate(blocks, start=1) for _ in block),
    )


@pytest.mark.parametrize(
    ("order", "blocks", "fixed"),
    [
        (Order.RANDOM, (("a", "b"),), False),
        (Order.WITHIN_GROUPS, (("a", "b"),), True),
        (Order.WITHIN_GROUPS, (("a", "a"),), False),
        (Order.GIVEN, (("a", "b"),), True),
        (Order.BLOCKS, (("a", "b"), ("b", "a")), False),
        # Each server in a block of its own, one after the other.
        (Order.BLOCKS, (("a", "a"), ("b", "b")), True),
        (Order.BLOCKS, (("a",), ("a",), ("b",)), True),
        # Interleaved.
        (Order.BLOCKS, (("a",), ("b",), ("a",), ("b",)), False),
    ],
)
def test_a_comparison_is_confounded_with_time_unless_its_order_was_drawn(
    order: Order, blocks: tuple[tuple[str, ...], ...], fixed: bool
) -> None:
    assert is_in_fixed_order(planned(order, blocks), lambda crash: crash.server) is fixed


def test_no_plan_that_is_drawn_now_confounds_servers_with_time() -> None:
    for keep in (True, False):
        plan: CrashPlan = draw_plan([of_servers("a", "b")], repeat=1, seed=1, conditions=CONDITIONS, keep=keep)
        assert not is_in_fixed_order(plan, lambda crash: crash.server)


def test_a_sentence_names_what_was_compared_and_the_day() -> None:
    (run, *_) = measured_runs("generations")
    said = confounded_with_time([run], CrashPlan, {"servers": lambda crash: crash.server, "logs": lambda _: 1})
    assert said.startswith("Servers were measured")
    assert "2026-11-22" in said
    assert confounded_with_time([run], CrashPlan, {"logs": lambda _: 1}) == ""
