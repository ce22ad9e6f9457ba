"""What each level adds to the baseline, in seconds and with an interval, and in which phase."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import scipy

from redolab.records.alike import Alike, grouped, pooled
from redolab.records.recovery import Outcome, RecoveryTrial
from redolab.report.labels import server_label
from redolab.timeline import Phase

from .cases import BASELINE

_SHARE = 0.95
_OF_A_CASE = ("spec", "buffer_pool", "settings")
"""What levels are levels of: the baseline that they are compared with is alike in all else."""


@dataclass(frozen=True, slots=True)
class MeasuredCase:
    """One recovery of a case."""

    server: str
    factor: str
    level: str
    trial: RecoveryTrial
    key: Alike
    run: str = ""
    crash: str = ""
    """How its crash was made, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorEffect:
    """One level of one server against the server's baseline; seconds."""

    server: str
    version: str
    factor: str
    level: str
    ready: float
    """Mean time to ready."""
    n: int
    crashes: int
    added: float
    """To the mean of the baseline."""
    base: float
    """Mean time to ready of the baseline."""
    low: float
    high: float
    """The 95 % interval of what is added."""
    phase: str
    """The phase that grew or shrank the most; empty where the log does not tell."""
    rollback: float | None
    """Mean of the rollback after ready."""
    unfinished: int
    """Recoveries that did not end in a server that was ready."""
    on: str = ""
    """The machine, where the server was measured on several."""
    baseline: int = 1
    """Which of the baselines it is compared with, in the order in which they were first measured."""

    @property
    def label(self) -> str:
        """Whose it is: the server, and what tells it apart where it has several baselines."""
        on = f" on {self.on}" if self.on else ""
        return (
            server_label(self.server, self.version) + on + (f", baseline {self.baseline}" if self.baseline > 1 else "")
        )

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def effects(measured: Sequence[MeasuredCase]) -> list[FactorEffect]:
    """The baseline of each server, and after it every other level: the factor that adds the most first, its levels together.

    What several runs measured is put together where their baselines are alike in all.
    """
    found: list[FactorEffect] = []
    kinds = _of_one_baseline(measured)
    machines = {(key["server"], key.machine) for key, _, _ in kinds}
    several_machines = {server for server, count in Counter(server for server, _ in machines).items() if count > 1}
    baselines = list(dict.fromkeys(each.crash for _, _, own in kinds for each in own if each.factor == BASELINE))
    for key, _, own in kinds:
        server = key["server"]
        cells: dict[tuple[str, str], list[RecoveryTrial]] = defaultdict(list)
        for each in own:
            cells[each.factor, each.level].append(each.trial)
        base = _ready(cells[BASELINE, BASELINE])
        if not base:
            continue
        (crash,) = {each.crash for each in own if each.factor == BASELINE}
        within, between = _deviations(cells)
        for (factor, level), trials in sorted(cells.items(), key=lambda cell: cell[0][0] != BASELINE):
            effect = _effect(server, factor, level, trials, cells[BASELINE, BASELINE], within, between)
            found.append(
                replace(
                    effect,
                    on=key.machine.in_words() if server in several_machines else "",
                    baseline=baselines.index(crash) + 1,
                )
            )
    most: dict[str, float] = defaultdict(float)
    for effect in found:
        # One that was never ready adds more than any other.
        most[effect.factor] = max(most[effect.factor], effect.added / effect.base if effect.n else math.inf)
    labels = list(dict.fromkeys(each.label for each in found))
    return sorted(
        found,
        key=lambda effect: (
            labels.index(effect.label),
            effect.factor != BASELINE,
            -most[effect.factor],
            effect.factor,
            effect.added if effect.n else math.inf,
        ),
    )


def _of_one_baseline(measured: Sequence[MeasuredCase]) -> list[tuple[Alike, Alike, list[MeasuredCase]]]:
    """What can be levels of one baseline, with the key of that: of a run what is alike but for its case, of several if theirs are."""
    found: dict[tuple[Alike, Alike], list[MeasuredCase]] = {}
    for run in dict.fromkeys(each.run for each in measured):
        kinds = grouped([(each.key, each) for each in measured if each.run == run], *_OF_A_CASE)
        for key, own in kinds.items():
            if bases := [each.key for each in own if each.factor == BASELINE]:
                found.setdefault((key, pooled(bases)), []).extend(own)
    return [(key, base, own) for (key, base), own in found.items()]


def _effect(
    server: str,
    factor: str,
    level: str,
    trials: Sequence[RecoveryTrial],
    base: Sequence[RecoveryTrial],
    within: tuple[float, int],
    between: tuple[float, int],
) -> FactorEffect:
    ready, of_base = _ready(trials), _ready(base)
    mean = statistics.fmean(ready) if ready else math.nan
    added = mean - statistics.fmean(of_base)
    reach = math.nan if not ready else _reach(trials, base, within, between)
    return FactorEffect(
        server=server,
        version=trials[0].version,
        factor=factor,
        level=level,
        ready=mean,
        n=len(ready),
        crashes=len({trial.image for trial in trials}),
        added=added,
        base=statistics.fmean(of_base),
        low=added - reach,
        high=added + reach,
        phase="" if factor == BASELINE else _phase(trials, base),
        rollback=_mean([_phases(trial).get(Phase.ROLLBACK) for trial in trials]),
        unfinished=sum(trial.outcome is not Outcome.READY for trial in trials),
    )


def _reach(
    trials: Sequence[RecoveryTrial],
    base: Sequence[RecoveryTrial],
    within: tuple[float, int],
    between: tuple[float, int],
) -> float:
    """Half of the interval: recoveries differ by `within`, and crashes made alike by `between` on top.

    A level recovered from the baseline's own crashes shares what these differ by.
    """
    if not within[1]:
        # Of single recoveries nothing tells by how much two differ.
        return math.nan
    images, of_base = {trial.image for trial in trials}, {trial.image for trial in base}
    variance = within[0] ** 2 * (1 / len(_ready(trials)) + 1 / len(_ready(base)))
    freedom = within[1]
    if images != of_base:
        variance += between[0] ** 2 * (1 / len(images) + 1 / len(of_base))
        freedom = min(within[1], between[1])
    return float(scipy.stats.t.ppf((1 + _SHARE) / 2, max(1, freedom))) * math.sqrt(variance)


def _deviations(
    cells: Mapping[tuple[str, str], Sequence[RecoveryTrial]],
) -> tuple[tuple[float, int], tuple[float, int]]:
    """Standard deviations and degrees of freedom: of recoveries of one image, and of crashes made alike (their means)."""
    squares, freedom = 0.0, 0
    for trials in cells.values():
        for seconds in _by_image(trials).values():
            squares += sum((each - statistics.fmean(seconds)) ** 2 for each in seconds)
            freedom += len(seconds) - 1
    within = math.sqrt(squares / freedom) if freedom else 0.0
    of_images = _by_image(cells[BASELINE, BASELINE])
    means = [statistics.fmean(seconds) for seconds in of_images.values()]
    # What the means differ by holds what recoveries differ by, too.
    spread = statistics.variance(means) if len(means) > 1 else 0.0
    each = statistics.fmean(len(seconds) for seconds in of_images.values())
    between = math.sqrt(max(0.0, spread - within**2 / each))
    return (within, freedom), (between, len(means) - 1)


def _by_image(trials: Sequence[RecoveryTrial]) -> Mapping[str, list[float]]:
    seconds: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.seconds_to_ready is not None:
            seconds[trial.image].append(trial.seconds_to_ready)
    return seconds


def _phase(trials: Sequence[RecoveryTrial], base: Sequence[RecoveryTrial]) -> str:
    """The phase whose mean differs the most from the baseline's; scan and apply in one where the log does not tell them apart."""
    differences = {}
    for phase in (Phase.DISCOVER, Phase.SCAN, Phase.APPLY, Phase.OPEN, Phase.ACCEPT):
        now, before = (_mean([_phases(trial).get(phase) for trial in each]) for each in (trials, base))
        if now is not None and before is not None:
            differences[str(phase)] = now - before
    starts = [_mean([_start(trial) for trial in each]) for each in (trials, base)]
    if starts[0] is not None and starts[1] is not None:
        differences["start"] = starts[0] - starts[1]
    return max(differences, key=lambda name: abs(differences[name]), default="")


def _phases(trial: RecoveryTrial) -> Mapping[Phase, float | None]:
    # Of a server that was ready, a log that ends before that was not understood: its few phases would pass for all.
    if trial.seconds_to_ready is not None and trial.timeline is not None and trial.timeline.seconds_to_ready is None:
        return {}
    return {} if trial.timeline is None else {time.phase: time.seconds for time in trial.timeline.phases}


def _start(trial: RecoveryTrial) -> float | None:
    if trial.timeline is None or trial.seconds_to_ready is None or trial.timeline.seconds_to_ready is None:
        return None
    return trial.seconds_to_ready - trial.timeline.seconds_to_ready


def _ready(trials: Sequence[RecoveryTrial]) -> list[float]:
    return [trial.seconds_to_ready for trial in trials if trial.seconds_to_ready is not None]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
