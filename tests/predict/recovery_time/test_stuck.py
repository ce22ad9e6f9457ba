"""The chance that a recovery in several batches never ends."""

from __future__ import annotations

import pytest
import scipy

from redolab.predict.recovery_time.stuck import StuckCount, StuckCounts, chance_of_stuck

FEW = StuckCount(26, 108, 30, 3.0)
BULK = StuckCount(0, 314, 140, 0.0)


def test_it_is_an_estimate_with_an_interval_in_which_each_crash_counts_once() -> None:
    """26 of 108 recoveries are no 24 %: most of the 26 are of two crashes, repeated because they got stuck."""
    found = chance_of_stuck(StuckCounts({"a": FEW}), "a", 4)
    assert found is not None
    beta = scipy.stats.beta(3.5, 27.5)
    assert found.mean == pytest.approx(3.5 / 31)
    assert (found.low, found.high) == pytest.approx((beta.ppf(0.025), beta.ppf(0.975)), rel=0.05)
    assert (found.few_threads, found.workloads, found.more_threads) == (FEW, ("a",), None)


def test_that_none_got_stuck_does_not_say_that_none_does() -> None:
    found = [chance_of_stuck(StuckCounts({"a": StuckCount(0, n, n, 0.0)}), "a", 4) for n in (10, 300)]
    means = [each.mean for each in found if each is not None]
    assert means == sorted(means, reverse=True)
    assert 0 < means[1] < 0.005


def test_of_a_workload_with_few_crashes_any_of_the_server_may_be_like_it() -> None:
    counts = {"bulk": BULK, "oltp": FEW}
    found = chance_of_stuck(StuckCounts(counts), "tpcc", 4)
    assert found is not None
    # Between the two, and no surer than that: neither the worst of them nor all in one pot.
    assert found.mean == pytest.approx((0.5 / 141 + 3.5 / 31) / 2)
    assert found.low < 0.001
    assert found.high > 0.18
    assert found.workloads == ("bulk", "oltp")
    few = chance_of_stuck(StuckCounts({**counts, "tpcc": StuckCount(0, 30, 9, 0.0)}), "tpcc", 4)
    enough = chance_of_stuck(StuckCounts({**counts, "tpcc": StuckCount(0, 30, 10, 0.0)}), "tpcc", 4)
    assert few is not None
    assert enough is not None
    assert (few.workloads, enough.workloads) == (("bulk", "oltp", "tpcc"), ("tpcc",))


def test_more_read_threads_are_judged_by_what_got_stuck_with_few() -> None:
    counts = StuckCounts({"bulk": BULK, "oltp": FEW}, {8: StuckCount(0, 1, 1, 0.0), 16: StuckCount(0, 15, 2, 0.0)})
    for workload in ("bulk", "oltp", "tpcc"):
        found = {threads: chance_of_stuck(counts, workload, threads) for threads in (1, 4, 8, 15, 16, 64)}
        means = {threads: each.mean for threads, each in found.items() if each is not None}
        # With 8 only one crash that gets stuck was measured.
        assert means[1] == means[4] == means[8] == means[15]
        assert means[16] == means[64] == pytest.approx(means[4] * 0.5 / 3)
        assert found[16] is not None
        assert found[4] is not None
        assert found[16].high < found[4].high
        assert found[16].at_least == 16
