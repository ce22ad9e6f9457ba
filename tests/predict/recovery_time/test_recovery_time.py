"""The model of recovery times: it finds rates again from which recoveries were made, and says how sure it is."""

from __future__ import annotations

import dataclasses
import math

import pytest
import scipy

from redolab.predict.recovery_time.fit import Fitted, fit_together
from redolab.predict.recovery_time.held_out import (
    ENOUGH_CRASHES,
    HeldOut,
    HeldOutPrediction,
    cluster_of,
    judged,
    weighted_median,
    weights,
)
from redolab.predict.recovery_time.scaling import scaling
from redolab.predict.recovery_time.spread import (
    Spread,
    clopper_pearson,
    combined,
    interval,
    spread_of,
)
from redolab.predict.recovery_time.terms import TERMS, Part
from redolab.predict.recovery_time.work import CrashSize, dirty_pages_of, work
from redolab.servers.redo_capacity import PAGE_SIZE
from redolab.units import GIB, MIB
from tests.predict.recovery_time.examples import (
    DISKS,
    KNOWN,
    MANY_DISKS,
    MEMORY,
    crash,
    fit,
    observations,
    together,
    with_rates,
)

RELATIVES = {"mariadb-10.11": ["mariadb-11.8"], "mariadb-11.8": ["mariadb-10.11"]}


def test_redo_that_fits_the_pool_is_one_batch() -> None:
    there = CrashSize(redo=1e9, dirty_pages=10_000)
    one, two = work(there, 2e9, MEMORY), work(there, 1.9e9, MEMORY)
    assert (one.batches, one.stored) == (1, 1e9)
    assert one.pages == pytest.approx(11_000)
    assert two.batches == 2
    assert two.stored == pytest.approx(0.95e9)
    assert two.pages == pytest.approx(11_000 * 2**0.8)


def test_more_redo_and_slower_disks_never_take_less() -> None:
    for disk in DISKS.values():
        sizes = [256 * MIB * 2**step for step in range(9)]
        times = [KNOWN.ready(crash(size), 2 * GIB, disk) for size in sizes]
        assert times == sorted(times)


def test_the_fit_predicts_what_the_rates_would() -> None:
    seen = [each for each in observations() if each.log_size <= GIB]
    found = fit(seen)
    for size, pool, disk in (
        (8 * GIB, 2 * GIB, "local"),
        (8 * GIB, 6 * GIB, "gp3-3000"),
        (64 * GIB, 32 * GIB, "local"),
    ):
        expected = KNOWN.ready(crash(size), pool, DISKS[disk])
        assert found.ready(crash(size), pool, DISKS[disk]) == pytest.approx(expected, rel=0.1)
    assert found.memory.per_byte == pytest.approx(2.0, rel=0.1)
    assert found.memory.repetition == pytest.approx(0.8, abs=0.05)
    assert all(rate > 0 for rate in found.rates.values())


def test_parts_that_the_log_does_not_tell_apart_still_count() -> None:
    joined = [together(each, Part.SCAN, Part.APPLY) for each in observations()]
    found = fit(joined)
    for each in joined:
        assert found.ready(each.crash, each.pool, each.disk) == pytest.approx(each.ready, rel=0.05)


def test_who_was_measured_on_one_disk_takes_what_disks_do_from_its_family() -> None:
    other = with_rates(redo=3.0, applied_redo=3.0)
    on_one = [each for each in observations("mariadb-11.8", known=other) if each.storage == "local"]
    together_with = fit_together([*observations(), *on_one])
    found = together_with["mariadb-11.8", "bulk-update"]
    on_slow = other.ready(crash(GIB), GIB // 4, DISKS["gp3-3000"])
    assert found.ready(crash(GIB), GIB // 4, DISKS["gp3-3000"]) == pytest.approx(on_slow, rel=0.05)
    alone = fit(on_one)
    assert alone.ready(crash(GIB), GIB // 4, DISKS["gp3-3000"]) != pytest.approx(on_slow, rel=0.1)
    of_another_family = [dataclasses.replace(each, server="mysql-9", family="mysql") for each in on_one]
    strange = fit_together([*observations(), *of_another_family])["mysql-9", "bulk-update"]
    assert strange.rates == pytest.approx(alone.rates)


def test_redo_that_changes_the_same_pages_again_dirties_few_more() -> None:
    sizes = [10e6, 50e6, 200e6, 900e6]
    hot = [CrashSize(redo=redo, dirty_pages=500 * redo**0.3) for redo in sizes]
    found = dirty_pages_of(hot, of_one_load=True)
    assert found.power == pytest.approx(0.3)
    assert found.at(100e6) == pytest.approx(500 * 100e6**0.3)
    # Beyond what was measured nothing is spared.
    assert found.at(1800e6) == pytest.approx(2 * found.at(900e6))
    ever_others = dirty_pages_of([CrashSize(redo=redo, dirty_pages=redo**1.2) for redo in sizes], of_one_load=True)
    assert ever_others.power == 1.0


def test_tables_of_many_sizes_and_redo_that_hardly_differs_tell_no_power() -> None:
    two = [
        CrashSize(redo=1e9, dirty_pages=1000),
        CrashSize(redo=1.1e9, dirty_pages=3000),
        CrashSize(redo=1.05e9, dirty_pages=2300),
    ]
    for found in (dirty_pages_of(two, of_one_load=True), dirty_pages_of(two)):
        assert found.power == 1.0
        assert found.at(3.15e9) == pytest.approx(6300)


def test_pages_are_written_back_only_where_the_pool_is_short() -> None:
    there = CrashSize(redo=1e9, dirty_pages=10_000)
    needed = 2e9 + 11_000 * PAGE_SIZE
    assert work(there, needed / 0.8, MEMORY).written == 0
    assert work(there, needed / 1.0, MEMORY).written == pytest.approx(11_000 / 2)
    several = work(there, 1.5e9, MEMORY)
    assert several.written == several.pages


def test_held_out_predictions_are_of_what_was_not_seen() -> None:
    found = judged(observations(), RELATIVES)
    kinds = {each.held_out for each in found}
    assert kinds == {HeldOut.CRASH, HeldOut.RUN, HeldOut.LOG_SIZE, HeldOut.POOL, HeldOut.UNSEEN_STORAGE}
    assert {each.observation.log_size for each in found if each.held_out is HeldOut.LOG_SIZE} == {4 * GIB}
    exact = [each for each in found if each.held_out in (HeldOut.CRASH, HeldOut.LOG_SIZE)]
    assert max(abs(each.error) for each in exact) < 0.05


def test_a_disk_is_predicted_from_its_figures_once_enough_others_were_measured() -> None:
    found = judged(observations(disks=MANY_DISKS), RELATIVES)
    assert max(abs(each.error) for each in found if each.held_out is HeldOut.UNSEEN_STORAGE) < 0.1


def test_a_disk_that_a_relative_has_seen_is_another_thing_than_one_that_nobody_has() -> None:
    slower = with_rates(redo=2.0)
    found = judged([*observations(), *observations("mariadb-11.8", known=slower)], RELATIVES)
    by_relative = [each for each in found if each.held_out is HeldOut.STORAGE]
    assert {each.observation.server for each in by_relative} == set(RELATIVES)
    assert max(abs(each.error) for each in by_relative) < 0.1


def test_two_crashes_of_a_server_say_nothing_of_another_disk() -> None:
    names = list(dict.fromkeys(each.crash_name for each in observations()))

    def judged_there(crashes: int) -> bool:
        own = [each for each in observations() if each.storage == "hdd-raid10" or each.crash_name in names[:crashes]]
        found = judged([*own, *observations("mariadb-11.8")], RELATIVES)
        there = [each for each in found if each.observation.storage == "hdd-raid10"]
        return any(each.observation.server == "mariadb-10.11" and each.held_out is HeldOut.STORAGE for each in there)

    assert not judged_there(ENOUGH_CRASHES - 1)
    assert judged_there(ENOUGH_CRASHES)


def test_workloads_are_judged_apart() -> None:
    slower = with_rates(**{term.name.replace(" ", "_"): 3.0 for term in TERMS if not term.is_disk})
    both = [*observations(), *observations(known=slower, workload="oltp_write_only")]
    of_crash = [each for each in judged(both, RELATIVES) if each.held_out is HeldOut.CRASH]
    assert max(abs(each.error) for each in of_crash) < 0.05


def test_an_unmeasured_server_takes_its_relatives_rates() -> None:
    slower = with_rates(all=1.7)
    own = observations("mariadb-11.8", known=slower)
    found = judged([*observations(), *own, *observations("mysql-9")], RELATIVES)
    of_unmeasured = [each for each in found if each.observation.server == "mariadb-11.8"]
    as_they_are = [each for each in of_unmeasured if each.held_out is HeldOut.SERVER]
    assert len(as_they_are) == len(own)
    assert all(each.error == pytest.approx(math.log(1.7), abs=0.05) for each in as_they_are)
    alone = [each for each in found if each.observation.server == "mysql-9"]
    assert HeldOut.SERVER not in {each.held_out for each in alone}


def test_cpu_and_disk_are_scaled_by_a_few_crashes() -> None:
    on_disk = {term.name.replace(" ", "_"): 2.0 for term in TERMS if term.is_disk}
    slower = with_rates(all=1.5, **on_disk)
    own = [each for each in observations("mariadb-11.8", known=slower) if each.log_size <= 512 * MIB]
    found = scaling((KNOWN, each) for each in own)
    assert found.cpu == pytest.approx(1.5, rel=0.05)
    assert found.disk == pytest.approx(2.0, rel=0.05)
    assert found.of(KNOWN).rates == pytest.approx(slower.rates, rel=0.05)


def test_a_server_with_few_crashes_borrows_from_its_family() -> None:
    slower = with_rates(all=1.3)
    others = [each for server in ("mariadb-11.4", "mariadb-11.8") for each in observations(server, known=slower)]
    own = [each for each in observations(known=slower) if each.log_size == 256 * MIB and each.storage == "local"]
    few = [each for each in own if each.crash_name == own[0].crash_name]
    expected = slower.ready(crash(4 * GIB), GIB, DISKS["local"])

    def error(fitted: Fitted) -> float:
        return abs(math.log(fitted.ready(crash(4 * GIB), GIB, DISKS["local"]) / expected))

    assert error(fit_together([*others, *few])["mariadb-10.11", "bulk-update"]) < 0.05 < error(fit(few))


def test_predictions_without_dirty_pages_use_those_of_the_other_crashes() -> None:
    found = [each for each in judged(observations(), RELATIVES) if each.held_out is HeldOut.CRASH]
    assert all(each.by_redo == pytest.approx(each.predicted, rel=1e-3) for each in found)
    first = found[0].observation.crash_name
    dirtier = [
        dataclasses.replace(each, crash=dataclasses.replace(each.crash, dirty_pages=2 * each.crash.dirty_pages))
        if each.crash_name == first
        else each
        for each in observations()
    ]
    unaware = [
        each
        for each in judged(dirtier, RELATIVES)
        if each.held_out is HeldOut.CRASH and each.observation.crash_name == first
    ]
    assert all(each.by_redo < each.predicted for each in unaware)


def test_what_goes_beyond_is_less_sure() -> None:
    within, beyond = Spread(deviation=0.1, count=50), Spread(deviation=0.3, count=20)
    both = combined(within, [beyond, Spread(deviation=0.05, count=9)])
    assert both.deviation == pytest.approx(0.3)
    assert both.count == 9
    alone = combined(within, [])
    assert (alone.scale_above, alone.scale_below, alone.count) == (0.1, 0.1, 50)
    one_sided = combined(within, [Spread(deviation=0.3, count=20, above=0.05, below=0.5)])
    assert one_sided.scale_above == pytest.approx(0.1)
    assert one_sided.scale_below == pytest.approx(0.5)
    long_tail = Spread(deviation=0.1, count=50, above=0.25, below=0.1)
    assert combined(long_tail, [Spread(deviation=0.2, count=20)]).scale_above == 0.25
    assert combined(long_tail, [beyond]).scale_above == pytest.approx(0.3)
    assert spread_of([("a", 0.1), ("b", -0.1)]).deviation == pytest.approx(0.1)


def test_many_recoveries_of_one_crash_are_one() -> None:
    found = spread_of([*(("a", 0.1) for _ in range(20)), ("b", 0.3)])
    assert found.count == 2
    assert found.deviation == pytest.approx(math.sqrt((0.01 + 0.09) / 2))


def test_of_errors_each_crash_counts_once() -> None:
    one, *_ = observations()
    off = {"often": (2.0, 9), "once": (0.9, 1), "exact": (1.0, 1)}
    found = [
        HeldOutPrediction(HeldOut.CRASH, dataclasses.replace(one, crash_name=name), times * one.ready, one.ready)
        for name, (times, recoveries) in off.items()
        for _ in range(recoveries)
    ]
    units = [cluster_of(each) for each in found]
    errors = [math.expm1(-each.error) for each in found]
    assert sum(weights(units)) == pytest.approx(len(off))
    assert weighted_median([abs(each) for each in errors], units) == pytest.approx(0.1)
    assert weighted_median(errors, units) == pytest.approx(0.0)
    of_servers = [dataclasses.replace(each, held_out=HeldOut.SERVER) for each in found]
    assert {cluster_of(each) for each in of_servers} == {one.server}


def test_a_crash_of_which_some_recoveries_were_inside_is_a_part_of_one() -> None:
    exact = scipy.stats.binomtest(8, 10).proportion_ci(0.95, "exact")
    assert clopper_pearson(8, 10) == pytest.approx((exact.low, exact.high))
    below, between, above = clopper_pearson(8, 10), clopper_pearson(8.5, 10), clopper_pearson(9, 10)
    assert all(low < middle < high for low, middle, high in zip(below, between, above, strict=True))
    assert clopper_pearson(0, 3)[0] == 0.0
    assert clopper_pearson(3, 3)[1] == 1.0


def test_enough_crashes_tell_either_side_by_themselves() -> None:
    errors = [(str(number), 0.8 if number < 8 else 0.01 * (number % 3)) for number in range(100)]
    found = spread_of(errors)
    low, high = interval(1.0, found, 0.9)
    assert math.log(high) == pytest.approx(0.8)
    assert math.log(low) == pytest.approx(-float(scipy.stats.t.ppf(0.95, 100)) * found.deviation)
    few = spread_of(errors[1:])
    assert few.above is None
    assert few.scale_above == few.scale_below == few.deviation


def test_predictions_that_are_all_too_long_make_the_upper_end_no_nearer() -> None:
    found = spread_of((str(number), -0.1 - number / 100) for number in range(100))
    assert found.scale_above == found.deviation
    assert found.at_least(9.0).scale_below == 9.0
