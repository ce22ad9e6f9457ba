"""What each level adds to the baseline, as a share with an interval, and in which phase."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import scipy

from redolab.models.intervals import SHARE, Ratio, stand_together
from redolab.records.alike import Alike, grouped, pooled
from redolab.records.recovery import Outcome, RecoveryTrial
from redolab.report.labels import server_label
from redolab.timeline import Phase

from .cases import BASELINE

_OF_A_CASE = ("spec", "buffer_pool", "settings")
"""What levels are levels of: the baseline that they are compared with is alike in all else."""
_UP_TO_READY = (Phase.DISCOVER, Phase.SCAN, Phase.APPLY, Phase.OPEN, Phase.ACCEPT)
_FEWEST = 2
"""Crashes: one has no spread."""


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
    machine: str = ""
    """The identity of the machine; empty where it was not noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorEffect:
    """One level of one server against the server's baseline."""

    server: str
    version: str
    factor: str
    level: str
    ready: float
    """Seconds to ready: the geometric mean of the crashes, of each of its recoveries; NaN where none was ready."""
    n: int
    crashes: int
    base: float
    """The same of the baseline."""
    ratio: Ratio
    """By what share it takes longer than the baseline; its blocks are crashes."""
    chance: float
    """To find such a difference where there is none."""
    phase: str
    """The phase that grew or shrank the most; empty where the log does not tell."""
    rollback: float | None
    """Mean of the rollback after ready, seconds."""
    unfinished: int
    """Recoveries that did not end in a server that was ready."""
    stands: bool = False
    """Whether it stands beside all levels of its baseline that were measured (`stand_together`)."""
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
    def added(self) -> float:
        """Seconds, to those of the baseline."""
        return self.ready - self.base


def effects(measured: Sequence[MeasuredCase]) -> list[FactorEffect]:
    """The baseline of each server, and after it every other level: the factor that adds the most first, its levels together.

    What several runs of one machine measured is put together where their baselines are alike in all.
    """
    found: list[FactorEffect] = []
    kinds = _of_one_baseline(measured)
    machines = {(key["server"], key.machine) for key, _, _ in kinds}
    several_machines = {server for server, count in Counter(server for server, _ in machines).items() if count > 1}
    baselines = list(dict.fromkeys(_made(each) for _, _, own in kinds for each in own if each.factor == BASELINE))
    spread = _spread_of_baselines([own for _, _, own in kinds])
    for key, _, own in kinds:
        server = key["server"]
        cells: dict[tuple[str, str], list[RecoveryTrial]] = defaultdict(list)
        for each in own:
            cells[each.factor, each.level].append(each.trial)
        if not _by_image(cells[BASELINE, BASELINE]):
            continue
        (made,) = {_made(each) for each in own if each.factor == BASELINE}
        of_it = [
            _effect(server, factor, level, trials, cells[BASELINE, BASELINE], spread)
            for (factor, level), trials in sorted(cells.items(), key=lambda cell: cell[0][0] != BASELINE)
        ]
        on = key.machine.in_words() if server in several_machines else ""
        for effect, stands in zip(of_it, stand_together([each.chance for each in of_it]), strict=True):
            found.append(replace(effect, stands=stands, on=on, baseline=baselines.index(made) + 1))
    most: dict[str, float] = defaultdict(float)
    for effect in found:
        # One that was never ready adds more than any other.
        most[effect.factor] = max(most[effect.factor], effect.ratio.change if effect.n else math.inf)
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


def _made(case: MeasuredCase) -> tuple[str, str]:
    """How and where its crash was made."""
    return case.crash, case.machine


def _of_one_baseline(measured: Sequence[MeasuredCase]) -> list[tuple[Alike, Alike, list[MeasuredCase]]]:
    """What can be levels of one baseline, with the key of that: of a run what is alike but for its case, of several if theirs are."""
    found: dict[tuple[Alike, Alike, str], list[MeasuredCase]] = {}
    for run in dict.fromkeys(each.run for each in measured):
        kinds = grouped([(each.key, each) for each in measured if each.run == run], *_OF_A_CASE)
        for key, own in kinds.items():
            if bases := [each.key for each in own if each.factor == BASELINE]:
                found.setdefault((key, pooled(bases), own[0].machine), []).extend(own)
    return [(key, base, own) for (key, base, _), own in found.items()]


def _effect(
    server: str,
    factor: str,
    level: str,
    trials: Sequence[RecoveryTrial],
    base: Sequence[RecoveryTrial],
    spread: tuple[float, int],
) -> FactorEffect:
    ready = [trial for trial in trials if trial.ready_s is not None]
    difference = _Difference(_by_image(trials), _by_image(base), spread)
    is_base = factor == BASELINE
    return FactorEffect(
        server=server,
        version=trials[0].version,
        factor=factor,
        level=level,
        ready=difference.ready,
        n=len(ready),
        crashes=len({trial.image for trial in trials}),
        base=difference.base,
        ratio=Ratio(0.0, 0.0, 0.0, 0) if is_base else difference.ratio(),
        chance=math.nan if is_base else difference.chance(),
        phase="" if is_base else _phase(trials, base),
        rollback=_mean([_phases(trial).get(Phase.ROLLBACK) for trial in trials]),
        unfinished=sum(trial.outcome is not Outcome.READY for trial in trials),
    )


class _Difference:
    """How far a level is from the baseline: between the logarithms of their crashes, each the mean of its recoveries.

    Crashes made alike differ by more than recoveries of one, and it is of crashes that something is said.
    """

    def __init__(
        self, level: Mapping[str, Sequence[float]], base: Mapping[str, Sequence[float]], spread: tuple[float, int]
    ) -> None:
        self._level, self._base = _logarithms(level), _logarithms(base)
        self.ready = math.exp(statistics.fmean(self._level.values())) if level else math.nan
        self.base = math.exp(statistics.fmean(self._base.values()))
        self._error, self._freedom = self._standard_error(spread)

    def ratio(self) -> Ratio:
        """Of the level to the baseline."""
        change = math.log(self.ready / self.base)
        reach = math.nan
        if self._freedom:
            reach = float(scipy.stats.t.ppf((1 + SHARE) / 2, self._freedom)) * self._error
        return Ratio(math.expm1(change), math.expm1(change - reach), math.expm1(change + reach), len(self._level))

    def chance(self) -> float:
        """See `FactorEffect.chance`; NaN where nothing tells."""
        if not self._freedom or not self._level:
            return math.nan
        change = abs(math.log(self.ready / self.base))
        return 2 * float(scipy.stats.t.sf(change / self._error, self._freedom)) if self._error else 0.0

    def _standard_error(self, spread: tuple[float, int]) -> tuple[float, float]:
        """Of the difference, with the degrees of freedom that Student's t has; 0 of these where nothing tells any.

        Of pairs where the level has the baseline's own crashes; else Welch's, each with its own spread. A level of a single crash
        has none of its own: its crashes are taken to differ as those of all baselines do.
        """
        level, base = list(self._level.values()), list(self._base.values())
        if not level:
            return math.nan, 0.0
        if self._level.keys() <= self._base.keys():
            pairs = [value - self._base[name] for name, value in self._level.items()]
            if len(pairs) < _FEWEST:
                return math.nan, 0.0
            return statistics.stdev(pairs) / math.sqrt(len(pairs)), len(pairs) - 1.0
        if len(level) < _FEWEST or len(base) < _FEWEST:
            deviation, freedom = spread
            return deviation * math.sqrt(1 / len(level) + 1 / len(base)), float(freedom)
        own, of_base = statistics.variance(level) / len(level), statistics.variance(base) / len(base)
        if not own + of_base:
            return 0.0, len(level) + len(base) - 2.0
        satterthwaite = (own + of_base) ** 2 / (own**2 / (len(level) - 1) + of_base**2 / (len(base) - 1))
        return math.sqrt(own + of_base), satterthwaite


def _spread_of_baselines(measured: Sequence[Sequence[MeasuredCase]]) -> tuple[float, int]:
    """The standard deviation between crashes of a baseline, in logarithms, of all of them together, and its degrees of freedom."""
    squares, freedom = 0.0, 0
    for own in measured:
        crashes = list(_logarithms(_by_image([each.trial for each in own if each.factor == BASELINE])).values())
        if crashes:
            squares += math.fsum((each - statistics.fmean(crashes)) ** 2 for each in crashes)
            freedom += len(crashes) - 1
    return (math.sqrt(squares / freedom), freedom) if freedom else (math.nan, 0)


def _logarithms(seconds: Mapping[str, Sequence[float]]) -> Mapping[str, float]:
    """Crash → the mean of the logarithms of its recoveries."""
    return {name: statistics.fmean(map(math.log, of_it)) for name, of_it in seconds.items()}


def _by_image(trials: Sequence[RecoveryTrial]) -> Mapping[str, list[float]]:
    seconds: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.ready_s is not None:
            seconds[trial.image].append(trial.ready_s)
    return seconds


def _phase(trials: Sequence[RecoveryTrial], base: Sequence[RecoveryTrial]) -> str:
    """The phase whose mean differs the most from the baseline's; scan and apply in one where the log does not tell them apart."""
    differences = {}
    for phase in _UP_TO_READY:
        now, before = (_mean([_phases(trial).get(phase) for trial in each]) for each in (trials, base))
        if now is not None and before is not None:
            differences[str(phase)] = now - before
    starts = [_mean([_start(trial) for trial in each]) for each in (trials, base)]
    if starts[0] is not None and starts[1] is not None:
        differences["start"] = starts[0] - starts[1]
    return max(differences, key=lambda name: abs(differences[name]), default="")


def phases_of(measured: Sequence[MeasuredCase], effect: FactorEffect) -> Mapping[Phase, float]:
    """Phase up to ready → its mean seconds in the recoveries of a level, as far as the log tells them."""
    trials = [each.trial for each in measured if (each.factor, each.level) == (effect.factor, effect.level)]
    found = {phase: _mean([_phases(trial).get(phase) for trial in trials]) for phase in _UP_TO_READY}
    return {phase: seconds for phase, seconds in found.items() if seconds is not None}


def _phases(trial: RecoveryTrial) -> Mapping[Phase, float | None]:
    # Of a server that was ready, a log that ends before that was not understood: its few phases would pass for all.
    if trial.ready_s is not None and trial.timeline is not None and trial.timeline.seconds_to_ready is None:
        return {}
    return {} if trial.timeline is None else {time.phase: time.seconds for time in trial.timeline.phases}


def _start(trial: RecoveryTrial) -> float | None:
    if trial.timeline is None or trial.ready_s is None or trial.timeline.seconds_to_ready is None:
        return None
    return trial.ready_s - trial.timeline.seconds_to_ready


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
