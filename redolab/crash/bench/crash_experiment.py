"""Declaration of every experiment that crashes servers. This module imports nothing that starts a server."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from typing_extensions import override

from redolab.crash.bench.crash_plan import CrashConditions, PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import CrashFactors
from redolab.results.rows import recovery_rows
from redolab.runs.experiment import Declaration, Noun, types_in_brackets
from redolab.runs.plan import Blocks, Plan, draw_in_blocks, draw_plan, plan_type
from redolab.runs.schema import Rows
from redolab.runs.store import Run

if TYPE_CHECKING:
    from redolab.crash.bench.crash_bench import CrashBench
    from redolab.lab import Lab

F = TypeVar("F", bound=CrashFactors)
G = TypeVar("G", bound=PlannedCrash)
S = TypeVar("S", bound=PlannedRecovery)


class CrashExperiment(Declaration, Generic[F, G, S]):
    """An experiment whose groups are crashes, and whose steps are recoveries of copies of the crash images.

    `class Survey(CrashExperiment[Factors, PlannedCrash, PlannedRecovery])` declares its factors, and what its plan has.
    A subclass must write `blocks`.
    """

    group_noun = Noun("crash", "crashes")
    step_noun = Noun("recovery", "recoveries")
    new_loads: ClassVar[bool] = False
    """True if every load is run anew, in blocks even with `KEEP=on`, and each crash is recovered once.

    Otherwise the factors have `repeat`, the number of times each recovery is measured.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if types := types_in_brackets(cls, CrashExperiment):
            cls.factors_type, group, step = types
            cls.plan_type = plan_type(group, step, CrashConditions)

    @classmethod
    @override
    def plan_from(cls, factors: Any, lab: Lab) -> Plan[G, S, CrashConditions]:
        from redolab.disks.attaching import check_possible

        factors.check()
        check_possible(factors.profiles())
        factors = replace(factors, seed=factors.drawn_seed())
        draw, repeat = (draw_in_blocks, 1) if cls.new_loads else (draw_plan, factors.repeat)
        return draw(
            cls.blocks(factors, lab),
            repeat=repeat,
            seed=factors.seed,
            conditions=cls.conditions_from(factors, lab),
            keep=factors.keep,
            together=cls.together,
        )

    @classmethod
    @abstractmethod
    def blocks(cls, factors: F, lab: Lab) -> Blocks[G, S]:
        """Return blocks of crashes, each with its recoveries. The factors were checked, and have a seed. Raises `LabError`."""

    @classmethod
    def together(cls, crash: G) -> Hashable:
        """Return a key: crashes of a block with the same key follow one another. Here: the load, if it makes several."""
        from redolab.crash.bench.planning import load_of

        return load_of(crash)

    @classmethod
    def conditions_from(cls, factors: F, lab: Lab) -> CrashConditions:
        """Return the conditions of the whole run. Raises `LabError`."""
        return CrashConditions(storages=factors.profiles(), new_crash=cls.new_loads, check_disks=factors.check_disks)

    @classmethod
    @override
    def bench(cls, lab: Lab, plan: Plan[Any, Any, Any]) -> CrashBench:
        from redolab.crash.bench.crash_bench import CrashBench

        return CrashBench(lab, plan)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        return recovery_rows(run)
