"""Compares three lists of terms of the recovery-time model on crashes that chose none of them (data/measured/host-g).

python -m benchmarks.terms

Twelve terms are the model's; thirteen have the processor's time for each page besides; twenty-one are those of the
first model. Each list is fitted to what the model learns from (hosts A and C), and predicts host G: a crash each of two
servers on two simulated disks, and crashes at random times of sysbench's oltp_read_write, with many dirty pages and
little redo. Scaled: by a factor for the CPU and one for the disk, from every second of these crashes; the rest is
judged. RMS is of ln(measured / predicted), each crash on a storage once. It takes five minutes.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from redolab.predict.fitting import fit_runs
from redolab.predict.observations import known_disks, observations_of
from redolab.predict.recovery_time import fit, scaling, terms
from redolab.predict.recovery_time.fit import Fitted, Observation, fit_together
from redolab.predict.recovery_time.pooling import Subject
from redolab.predict.recovery_time.scaling import Scaling
from redolab.predict.recovery_time.terms import TERMS, DiskRates, Part, Term
from redolab.predict.recovery_time.work import Work
from redolab.results.alike import Keys, keyed_recoveries
from redolab.results.committed import HOST_G, committed_recoveries
from redolab.runs.pages import measured_runs
from redolab.servers.redo_capacity import PAGE_SIZE

_GB, _FEW_PAGES = 1e9, 16_000


def _in_order_s(pages: float, disk: DiskRates) -> float:
    return pages * PAGE_SIZE / (disk.in_order_mb_s * 1e6)


def _term(name: str, part: Part, amount: Callable[[Work, DiskRates], float], *, is_disk: bool = False) -> Term:
    return Term(name=name, part=part, about="", unit="", amount=amount, is_disk=is_disk)


def _crowded_thousands(work: Work, _: DiskRates) -> float:
    return work.pages / 1000 * math.log2(1 + work.pages / work.batches / _FEW_PAGES)


_PAGES = _term("pages", Part.APPLY, lambda work, _: work.pages / 1000)
_OTHERS = (
    _term("stored redo", Part.SCAN, lambda work, _: work.stored / _GB),
    _term("scan again", Part.SCAN, lambda work, _: work.redo / _GB if work.batches > 1 else 0.0),
    _term("crowded pages", Part.APPLY, _crowded_thousands),
    _term("redo of later batches", Part.APPLY, lambda work, _: (work.batches - 1) * work.redo / _GB),
    _term("pages read", Part.APPLY, lambda work, disk: _in_order_s(work.pages, disk), is_disk=True),
    _term("pages written", Part.APPLY, lambda work, disk: _in_order_s(work.written, disk), is_disk=True),
    _term("flushed pages", Part.OTHER, lambda work, _: work.pages / work.batches / 1000),
    _term("page flushes", Part.OTHER, lambda work, disk: _in_order_s(work.pages / work.batches, disk), is_disk=True),
)
LISTS: Mapping[str, Sequence[Term]] = {
    "twelve": TERMS,
    "thirteen, with pages": (*TERMS, _PAGES),
    "twenty-one": (*TERMS, _PAGES, *_OTHERS),
}


@contextmanager
def with_terms(chosen: Sequence[Term]) -> Iterator[None]:
    """Let the model have these terms."""
    with (
        patch.object(fit, "TERMS", chosen),
        patch.object(scaling, "TERMS", chosen),
        patch.object(terms, "TERMS", chosen),
    ):
        yield


def of_load(fitted: Mapping[Subject, Fitted], each: Observation) -> Fitted:
    """Return the rates of its load; of an unknown one, the geometric means of its server's rates."""
    if each.subject in fitted:
        return fitted[each.subject]
    own = [found for (server, _), found in fitted.items() if server == each.server]
    means = {name: statistics.geometric_mean(found.rates[name] for found in own) for name in own[0].rates}
    return Fitted(memory=own[0].memory, rates=means, dirty_pages=own[0].dirty_pages)


def said(observations: Sequence[Observation], fitted: Mapping[Subject, Fitted], factors: Scaling | None = None) -> str:
    """Return median error, RMS and number of crashes of these predictions."""
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each in observations:
        rates = of_load(fitted, each)
        model = rates if factors is None else factors.of(rates)
        ratios[each.crash_name, each.storage].append(
            math.log(each.ready / model.ready(each.crash, each.pool, each.disk))
        )
    crashes = [statistics.fmean(found) for found in ratios.values()]
    median = statistics.median(abs(math.exp(-ratio) - 1) for found in ratios.values() for ratio in found)
    return (
        f"median {median:4.0%}, RMS {math.sqrt(statistics.fmean(one * one for one in crashes)):.3f} of {len(crashes)}"
    )


def main() -> None:
    """Print the errors of each list."""
    learned_from = fit_runs(committed_recoveries()).observations
    runs = measured_runs(HOST_G)
    there = observations_of(keyed_recoveries(runs), known_disks(Keys(runs)))
    disks = [each for each in there if each.workload == "bulk-update"]
    loads = sorted((each for each in there if each not in disks), key=lambda each: (each.storage, each.crash_name))
    for name, chosen in LISTS.items():
        with with_terms(chosen):
            fitted = fit_together(learned_from)
            factors = scaling.scaling((of_load(fitted, each), each) for each in loads[::2])
            print(f"{name} terms")
            print(f"  unseen disks                 {said(disks, fitted)}")
            print(f"  unseen load                  {said(loads, fitted)}")
            print(f"  unseen load, scaled          {said(loads[1::2], fitted, factors)}")


if __name__ == "__main__":
    main()
