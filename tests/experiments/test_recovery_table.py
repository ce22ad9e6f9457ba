"""The table of recoveries, from trials as data."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from experiments.recovery.report import (
    Row,
    answer,
    bar_segments,
    configurations,
    phases_table,
    plot_clients,
    recoveries_table,
)
from redolab.crash.records.recovery import Outcome, RecoveryTrial, Unfinished, WarmTime
from redolab.errorlog import Phase, PhaseTime
from redolab.errorlog.collapse import Repetition
from redolab.machine.facts import Disturbance
from redolab.report.table import ReportTable
from redolab.results.alike import Keyed
from redolab.results.bound import Bound
from redolab.results.comparable import comparable
from redolab.results.marks import Off
from redolab.results.recoveries import Recovery
from redolab.workloads.data import TableCheck, WorkloadReport
from tests.examples import MACHINE, image, keyed, record, trial


def each_keyed(*recoveries: Recovery) -> list[Keyed]:
    return [keyed(each) for each in recoveries]


def rows_of(*recoveries: Recovery) -> list[Row]:
    return configurations(comparable(each_keyed(*recoveries)))


def table_of(recoveries: Sequence[Keyed], off: Off | None = None) -> ReportTable:
    frame = comparable(recoveries)
    return recoveries_table(configurations(frame), frame, off or {})


STUCK = Unfinished(phase=Phase.APPLY, percent=50, progress_ended=4.0, ended=124.0, repeated=(Repetition("no", 9),))


def stuck_trial() -> RecoveryTrial:
    never = {"seconds_to_ready": None, "first_connection": None, "first_write": None}
    return replace(trial(), outcome=Outcome.STUCK, unfinished=STUCK, **never)


def first_row(table: ReportTable) -> dict[str, str]:
    return dict(zip([heading for heading, _ in table.headings], table.cells[0], strict=True))


def test_a_row_is_all_times_and_the_phases_of_the_recovery_nearest_to_their_median() -> None:
    (row,) = rows_of(record(trial(3.3)), record(trial(4.3, slower_apply=1.0)), record(trial(5.3, slower_apply=2.0)))
    assert (row["n"], row["ready"], row["ready_s"]) == (3, [3.3, 4.3, 5.3], 4.3)
    phases = [row[f"{phase}_s"] for phase in ("start", "discover", "scan", "apply", "open", "accept")]
    assert phases == pytest.approx([0.1, 0.1, 1.02, 2.98, 0.05, 0.05], abs=0.011)
    assert sum(phases) == pytest.approx(4.3)
    assert row["rollback_s"] == pytest.approx(0.5)
    assert (row["redo"], row["dirty_pages"], row["pages_to_recover"]) == (40_000_000, 2345, 2000)


def test_crashes_made_alike_are_one_row() -> None:
    first = image()
    second = replace(first, name="second", spec=replace(first.spec, number=2))
    of_second = record(replace(trial(5.3, slower_apply=2.0), image="second"), of_image=second)
    frame = comparable(each_keyed(record(trial(3.3)), of_second))
    (row,) = configurations(frame)
    assert (row["n"], row["crashes"]) == (2, 2)
    assert statistics.median(row["ready"]) == pytest.approx(4.3)
    assert "2 of 2 crashes" in recoveries_table([row], frame, {}).cells[0]
    assert "n=2 of 2 crashes each" in recoveries_table([row, row], frame, {}).caption


def test_machines_of_two_classes_and_servers_of_two_versions_are_rows_of_their_own() -> None:
    elsewhere = replace(MACHINE, cpu="another CPU")
    newer = replace(trial(9.3), server="mariadb-11.8", version="11.8.6")
    found = [
        keyed(record(trial(3.3))),
        keyed(record(trial(4.3)), machine=elsewhere),
        keyed(record(newer)),
        keyed(record(trial(3.5))),
    ]
    assert [row["ready"] for row in configurations(comparable(found))] == [[3.3, 3.5], [4.3], [9.3]]


def test_what_the_log_cannot_time_is_blank_with_the_reason_and_never_drawn_as_nothing() -> None:
    whole = trial(3.3)
    assert whole.timeline is not None
    untimed = [
        PhaseTime(each.phase, None, "the log does not tell") if each.phase in (Phase.SCAN, Phase.APPLY) else each
        for each in whole.timeline.phases
    ]
    blank = record(replace(whole, timeline=replace(whole.timeline, phases=tuple(untimed))))
    (row,) = rows_of(blank)
    assert row["scan_s"] is None
    assert "–" in table_of(each_keyed(blank)).cells[0]
    assert any(row["why_blank"] in note for note in phases_table([row], {}).notes)
    segments = bar_segments(row)
    assert [name for name, _ in segments] == ["start", "discover", "untimed", "open", "accept", "rollback"]
    assert sum(width for name, width in segments if name != "rollback") == pytest.approx(3.3)


def test_a_wrong_recovery_is_marked_in_its_row() -> None:
    wrong = record(trial(), TableCheck(what="rows", expected="2", found="1"))
    (row,) = rows_of(record(trial()), wrong)
    assert row["wrong"] == 1
    assert "3.30, 1 WRONG" in table_of(each_keyed(record(trial()), wrong)).cells[0]
    assert "1 of 2" in answer([row])


def test_a_disk_is_marked_where_what_decided_the_time_was_not_as_asked() -> None:
    frame = comparable(each_keyed(record(trial())))
    (row,) = configurations(frame)
    off = {(row["machine"], row["storage"]): {"write_us": "WRITE +30%", "append_us": "APPEND +20%"}}
    table = recoveries_table([{**row, "bound": Bound.WRITES}], frame, off)
    assert "local!" in table.cells[0]
    notes = "\n".join(table.notes)
    assert "WRITE +30%" in notes
    assert "APPEND" not in notes
    assert "local!" not in recoveries_table([{**row, "bound": Bound.ONE_CORE}], frame, off).cells[0]
    # Where nobody knows what decided it, any figure may have.
    assert "local!" in recoveries_table([{**row, "bound": None}], frame, off).cells[0]


def test_recoveries_that_others_disturbed_are_marked_with_the_meaning_below() -> None:
    disturbed = replace(trial(), disturbance=Disturbance(others=2.0, steal=0.0))
    table = table_of(each_keyed(record(disturbed)))
    assert "3.30*" in table.cells[0]
    assert any(note.startswith("*") for note in table.notes)
    assert "3.30" in table_of(each_keyed(record(trial()))).cells[0]


def test_what_got_no_further_is_told_in_place_of_seconds() -> None:
    stuck = stuck_trial()
    gone = replace(STUCK, phase=Phase.SCAN, percent=None, status=-6)
    gave_up = replace(stuck, outcome=Outcome.GAVE_UP, unfinished=gone, timeline=None, buffer_pool=64 << 20)
    found = each_keyed(record(stuck), record(stuck), record(gave_up))
    table, rows = table_of(found), configurations(comparable(found))
    assert "STUCK at 50 % of apply (2 of 2)" in table.cells[0]
    assert "GAVE UP at scan (1 of 1)" in table.cells[1]
    assert (rows[0]["n"], rows[0]["ready"], rows[0]["progress_ended_s"]) == (0, [], 4.0)
    mixed = table_of(each_keyed(record(stuck), record(trial())))
    assert "3.30, STUCK at 50 % of apply (1 of 2)" in mixed.cells[0]
    assert "3 of 3" in answer(rows)


def test_the_answer_is_one_short_sentence() -> None:
    one = answer(rows_of(record(trial()), record(trial(3.5))))
    asked = {"storage": "hdd-raid10", "settings": "innodb_read_io_threads=64", "buffer_pool": 512 << 20}
    slower = replace(trial(9.3), server="mariadb-11.8", version="11.8.6", **asked)
    several = answer(rows_of(record(trial()), record(slower), record(stuck_trial())))
    for answered, told in (
        (one, ("MariaDB 10.11.19", "38.1M", "64M", "3.40 (3.30–3.50) s")),
        (
            several,
            ("64M", "3.3 to 9.3 s", "MariaDB 11.8.6", "512M", "hdd-raid10", "innodb_read_io_threads=64", "1 of 3"),
        ),
    ):
        assert [each for each in told if str(each) not in answered] == []
        assert len(answered.split()) <= 30


WARM = WarmTime(
    commits_before=200.0,
    new_orders_before=90.0,
    clients_started=3.31,
    first_commit=3.6,
    back=12.5,
    best_share=0.93,
    followed=17.5,
)


def test_what_users_met_is_a_part_of_row_table_and_bar() -> None:
    never = replace(WARM, back=None, best_share=0.4, followed=63.3)
    came_back, did_not = record(trial(), warm=WARM), record(trial(3.4), warm=never)
    (row,) = rows_of(came_back, came_back, did_not)
    assert (row["backs"], row["back_s"], row["notpm_before"]) == ([12.5, 12.5, None], 12.5, 5400.0)
    cells = first_row(table_of(each_keyed(came_back, came_back, did_not)))
    assert (cells["first trx"], cells["90 % again"]) == ("3.60", "12.50, 1 not")
    # Behind 3.3 s to ready and half a second of rollback.
    last, width = bar_segments(row)[-1]
    assert last == "warm"
    assert width == pytest.approx(12.5 - 3.8)

    assert first_row(table_of(each_keyed(did_not)))["90 % again"] == "not by 63 (40 %)"
    assert bar_segments(rows_of(did_not)[0])[-1][0] == "rollback"
    assert "first trx" not in first_row(table_of(each_keyed(record(trial()))))


def test_a_second_without_a_commit_is_drawn_at_zero() -> None:
    (row,) = rows_of(record(trial(), warm=WARM))
    reports = [WorkloadReport(monotonic=at, commits_per_second=100.0) for at in (4.0, 4.5, 5.0, 5.5, 6.0, 8.0)]
    curve, *_ = plot_clients([(row, reports)]).axes[0].lines
    assert np.asarray(curve.get_xydata()).tolist() == [[5.0, 0.5], [6.0, 0.5], [7.0, 0.0], [8.0, 1.0]]
