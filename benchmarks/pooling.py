"""Strength of the pooling of the model's rates: held-out errors at each strength, and at one chosen inside each fold.

Prints, for crashes and for storages held out, the median error and the root mean square of ln(measured / predicted).
`chosen`: the strength is chosen without the recoveries that are then predicted, with crashes and storages held out
once more.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence

from redolab.predict.calibrated_elsewhere import fit_committed
from redolab.predict.recovery_time.fit import POOLING, Fits, Observation
from redolab.predict.recovery_time.held_out import (
    HeldOut,
    HeldOutPrediction,
    cluster_of,
    held_out_prediction,
    weighted_median,
    weights,
)
from redolab.predict.recovery_time.pooling import Pooling

STRENGTHS = (Pooling(outer=1.0, inner=3.0, disk=30.0), POOLING, Pooling(outer=10.0, inner=30.0, disk=300.0))
_BLOCKS = 10
_INNER_BLOCKS = 3


def main() -> None:
    """Print the table."""
    observations = fit_committed().observations
    families = [
        [each for each in observations if each.family == family]
        for family in dict.fromkeys(each.family for each in observations)
    ]
    for kind in (HeldOut.CRASH, HeldOut.UNSEEN_STORAGE):
        chosen: list[HeldOutPrediction] = []
        fixed: dict[Pooling, list[HeldOutPrediction]] = {strength: [] for strength in STRENGTHS}
        for family in families:
            for unseen in left_out(kind, family, _BLOCKS):
                seen = without(family, unseen)
                best = min(STRENGTHS, key=lambda strength: score(strength, seen))
                for strength, found in fixed.items():
                    predicted = predictions(kind, strength, seen, unseen)
                    found.extend(predicted)
                    chosen.extend(predicted if strength == best else [])
        for strength, found in fixed.items():
            show(f"{kind}: {strength.outer:g}, {strength.inner:g}, {strength.disk:g}", found)
        show(f"{kind}: chosen", chosen)


def left_out(kind: HeldOut, observations: Sequence[Observation], blocks: int) -> Iterator[list[Observation]]:
    """Yield the recoveries that are left out together: of a block of crashes, or on a storage."""
    key: Callable[[Observation], object] = (
        (lambda each: each.storage)
        if kind is HeldOut.UNSEEN_STORAGE
        else (lambda each: zlib.crc32(each.crash_name.encode()) % blocks)
    )
    for value in dict.fromkeys(map(key, observations)):
        yield [each for each in observations if key(each) == value]


def without(observations: Sequence[Observation], unseen: Sequence[Observation]) -> list[Observation]:
    """Return the rest."""
    gone = set(map(id, unseen))
    return [each for each in observations if id(each) not in gone]


def predictions(
    kind: HeldOut, strength: Pooling, seen: Sequence[Observation], unseen: Sequence[Observation]
) -> list[HeldOutPrediction]:
    """Return the predictions of the unseen by the rates of the seen."""
    fitted = Fits(strength).of(seen)
    return [
        held_out_prediction(kind, each, fitted[each.subject])
        for each in unseen
        if each.subject in fitted and each.is_judged
    ]


def score(strength: Pooling, observations: Sequence[Observation]) -> float:
    """Return the sum of the errors (root mean square) on crashes and on storages left out of these recoveries."""
    return sum(
        rms(
            [
                each
                for unseen in left_out(kind, observations, _INNER_BLOCKS)
                if len({each.storage for each in without(observations, unseen)}) > 1
                for each in predictions(kind, strength, without(observations, unseen), unseen)
            ]
        )
        for kind in (HeldOut.CRASH, HeldOut.UNSEEN_STORAGE)
    )


def rms(found: Sequence[HeldOutPrediction]) -> float:
    """Return the root mean square of ln(measured / predicted), each unit counting once."""
    each_counts = weights([cluster_of(each) for each in found])
    squares = sum(weight * each.error**2 for weight, each in zip(each_counts, found, strict=True))
    return math.sqrt(squares / sum(each_counts))


def show(what: str, found: Sequence[HeldOutPrediction]) -> None:
    """Print a line."""
    median = weighted_median([abs(math.expm1(-each.error)) for each in found], [cluster_of(each) for each in found])
    print(f"{what:45} median {median:.1%}  rms {rms(found):.3f}", flush=True)


if __name__ == "__main__":
    main()
