"""How long a plan will take, from what earlier runs took; no guess where nothing like it has been measured."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from redolab.crash import CrashImage
from redolab.plan import PlannedRecovery, RecoveryPlan
from redolab.recovery import RecoveryTrial

_Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that what is known takes, and how much of it is not known."""

    seconds: float
    recoveries: int
    unknown: int
    """Recoveries for which nothing has been measured on that storage with such a log; each is taken for the mean of the known."""


class Experience:
    """What recoveries and fills took in earlier runs, the newest runs last."""

    def __init__(self, trials: Iterable[RecoveryTrial], crashes: Iterable[CrashImage]) -> None:
        self._recoveries: dict[_Key, list[float]] = defaultdict(list)
        for trial in trials:
            self.learn(trial)
        self._fills: dict[_Key, list[float]] = defaultdict(list)
        for image in crashes:
            self._fills[image.spec.dataset.server, image.spec.instance.log_size].append(image.fill_seconds)

    def learn(self, trial: RecoveryTrial) -> None:
        """Take one more recovery into account."""
        if trial.took is None:
            return
        for key in _keys(trial.server, trial.log_size, trial.storage, trial.buffer_pool):
            self._recoveries[key].append(trial.took)

    def recovery(self, plan: RecoveryPlan, planned: PlannedRecovery) -> float | None:
        """Seconds that a recovery took that was as alike as there are: same storage and log, and if possible server and pool."""
        crash = plan.crashes[planned.crash]
        for key in _keys(crash.server, crash.spec.instance.log_size, planned.storage, planned.pool):
            if key in self._recoveries:
                return statistics.median(self._recoveries[key])
        return None

    def fill(self, plan: RecoveryPlan, crash: int) -> float | None:
        """Seconds that filling that log on that server took."""
        spec = plan.crashes[crash].spec
        took = self._fills.get((spec.dataset.server, spec.instance.log_size))
        return statistics.median(took) if took else None

    def estimate(
        self, plan: RecoveryPlan, recoveries: Sequence[PlannedRecovery], fills: Iterable[int]
    ) -> Estimate | None:
        """What these recoveries and fills will take; None if nothing of them is known."""
        known = [self.recovery(plan, planned) for planned in recoveries]
        measured = [seconds for seconds in known if seconds is not None]
        if not measured:
            return None
        unknown = len(known) - len(measured)
        filling = sum(self.fill(plan, crash) or 0.0 for crash in fills)
        return Estimate(sum(measured) + unknown * statistics.fmean(measured) + filling, len(known), unknown)


def _keys(server: str, log_size: int, storage: str, pool: int) -> list[_Key]:
    return [(server, log_size, storage, pool), (server, log_size, storage), (log_size, storage)]
