"""The numbers of the table, from trials as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest

from experiments.recovery.answer import answer
from experiments.recovery.details import phases_table
from experiments.recovery.plots import bar_segments
from experiments.recovery.rows import RecoveryRow
from experiments.recovery.rows import recovery_rows as rows_of
from experiments.recovery.table import recovery_table
from redolab.errorlog import Phase, PhaseTime
from redolab.machine.facts import DeviceUse
from redolab.records.crash import CrashImage
from redolab.records.recovery import Outcome, Repeated, Unfinished, WarmTime
from redolab.results.recoveries import Recovery
from redolab.workloads.data import TableCheck
from tests.examples import MACHINE, image, keyed, record, trial


def recovery_rows(recoveries: Sequence[Recovery], crashes: Sequence[CrashImage]) -> list[RecoveryRow]:
    images = {each.name: each for each in crashes}
    return rows_of([keyed(each, images[each.trial.image]) for each in recoveries])


def test_a_row_is_the_median_its_range_and_the_phases_of_the_recovery_nearest_to_it() -> None:
    trials = [record(trial(3.3)), record(trial(4.3, slower_apply=1.0)), record(trial(5.3, slower_apply=2.0))]
    (row,) = recovery_rows(trials, [image()])
    assert (row.n, row.ready_median_s, row.ready_min_s, row.ready_max_s) == (3, 4.3, 3.3, 5.3)
    phases = [row.start_s, row.discover_s, row.scan_s, row.apply_s, row.open_s, row.accept_s]
    assert phases == pytest.approx([0.1, 0.1, 1.02, 2.98, 0.05, 0.05], abs=0.011)
    assert sum(phase or 0.0 for phase in phases) == pytest.approx(4.3)
    assert row.rollback_s == pytest.approx(0.5)
    assert row.redo_from_recovery_bytes == 40_000_000
    assert row.redo_from_last_sample_bytes == 40_500_000
    assert (row.dirty_pages, row.pages_recovered) == (2345, 2000)


def test_crashes_made_alike_are_one_row() -> None:
    first = image()
    second = msgspec.structs.replace(first, name="second", spec=msgspec.structs.replace(first.spec, number=2))
    of_second = record(msgspec.structs.replace(trial(5.3, slower_apply=2.0), image="second"))
    (row,) = recovery_rows([record(trial(3.3)), of_second], [first, second])
    assert (row.n, row.crashes) == (2, 2)
    assert row.ready_median_s == pytest.approx(4.3)
    assert "2 of 2 crashes" in recovery_table([row], [first, second]).cells[0]
    assert "2 recoveries of 2 crashes each" in recovery_table([row, row], [first, second]).caption


def test_machines_of_two_classes_and_servers_of_two_versions_are_rows_of_their_own() -> None:
    elsewhere = msgspec.structs.replace(MACHINE, cpu="another CPU")
    newer = msgspec.structs.replace(trial(9.3), server="mariadb-11.8", version="11.8.6")
    rows = rows_of(
        [
            keyed(record(trial(3.3))),
            keyed(record(trial(4.3)), machine=elsewhere),
            keyed(record(newer)),
            keyed(record(trial(3.5))),
        ]
    )
    assert [(row.n, row.ready_median_s) for row in rows] == [(2, pytest.approx(3.4)), (1, 4.3), (1, 9.3)]


def test_what_the_log_cannot_time_is_blank_with_the_reason_and_never_drawn_as_nothing() -> None:
    whole = trial(3.3)
    assert whole.timeline is not None
    untold = [
        PhaseTime(each.phase, None, "the log does not tell") if each.phase in (Phase.SCAN, Phase.APPLY) else each
        for each in whole.timeline.phases
    ]
    blank = msgspec.structs.replace(whole, timeline=msgspec.structs.replace(whole.timeline, phases=tuple(untold)))
    (row,) = recovery_rows([record(blank)], [image()])
    assert row.scan_s is None
    table = recovery_table([row], [image()])
    assert "–" in table.cells[0]
    assert "A dash: the log does not say ('--all' has the reason)." in table.notes
    assert any("scan: the log does not tell" in note for note in phases_table([row], {}).notes)
    segments = bar_segments(row)
    assert [name for name, _ in segments] == ["start", "discover", "untold", "open", "accept", "rollback"]
    assert sum(width for name, width in segments if name != "rollback") == pytest.approx(3.3)


def test_notes_say_what_a_reader_must_know() -> None:
    short = image("the checkpoint age had stopped growing at 40M, short of its target of 44.8M")
    rows = recovery_rows([record(msgspec.structs.replace(trial(), cache_dropped=False))], [short])
    notes = " ".join(recovery_table(rows, [short]).notes)
    assert "stopped growing at 40M, short of its target" in notes
    assert "page cache was not dropped" in notes


def test_a_wrong_recovery_is_marked_in_its_row() -> None:
    wrong = record(trial(), TableCheck(what="rows", expected="2", found="1"))
    (row,) = recovery_rows([record(trial()), wrong], [image()])
    assert row.wrong == 1
    assert any("3.30, 1 WRONG" in cell for cell in recovery_table([row], [image()]).cells[0])
    assert "1 of 2 recoveries left wrong tables" in answer([row])


def test_a_disk_is_marked_where_what_decided_the_time_was_not_as_asked() -> None:
    (row,) = recovery_rows([record(trial())], [image()])
    off = {(row.machine, row.storage): {"write_us": "random write of 16 KiB +30%", "append_us": "synced append +20%"}}
    used = DeviceUse(seconds=3.3, reads=10, read_bytes=163840, writes=90, written_bytes=1474560, busy=3.0, queue=1.0)
    writes = replace(row, device=used, cpu_s=0.5, busiest_thread_s=0.4, cores=2)
    table = recovery_table([writes], [image()], off)
    assert f"{row.storage}!" in table.cells[0]
    (said,) = [note for note in table.notes if "Not the disk that was asked for" in note]
    assert "random write of 16 KiB +30%" in said
    assert "append" not in said
    one_core = replace(writes, busiest_thread_s=3.2)
    assert f"{row.storage}!" not in recovery_table([one_core], [image()], off).cells[0]
    # Where nobody knows what decided it, any figure may have.
    unknown = replace(row, device=None)
    assert f"{row.storage}!" in recovery_table([unknown], [image()], off).cells[0]


def test_what_got_no_further_is_told_in_place_of_seconds() -> None:
    end = Unfinished(
        phase=Phase.APPLY, percent=50, progress_ended=4.0, ended=124.0, repeated=(Repeated(text="no", times=9),)
    )
    stuck = msgspec.structs.replace(
        trial(), outcome=Outcome.STUCK, seconds_to_ready=None, first_connection=None, first_write=None, unfinished=end
    )
    gone = msgspec.structs.replace(end, phase=Phase.SCAN, percent=None, status=-6)
    gave_up = msgspec.structs.replace(
        stuck, outcome=Outcome.GAVE_UP, unfinished=gone, timeline=None, buffer_pool=64 << 20
    )
    rows = recovery_rows([record(stuck), record(stuck), record(gave_up)], [image()])
    table = recovery_table(rows, [image()])
    assert "STUCK at 50 % of apply (2 of 2)" in table.cells[0]
    assert "GAVE UP at scan (1 of 1)" in table.cells[1]
    assert (rows[0].n, rows[0].ready_median_s, rows[0].progress_ended_s) == (0, None, 4.0)
    mixed = recovery_rows([record(stuck), record(trial())], [image()])
    assert "3.30, STUCK at 50 % of apply (1 of 2)" in recovery_table(mixed, [image()]).cells[0]
    assert answer(rows).startswith(
        "No recovery became ready: 2 of 3 recoveries never ended, 1 of 3 recoveries ended with"
    )


def test_what_users_met_is_a_part_of_row_table_bar_and_answer() -> None:
    warm = WarmTime(
        commits_before=200.0,
        new_orders_before=90.0,
        clients_started=3.31,
        first_commit=3.6,
        back=12.5,
        best_share=0.93,
        followed=17.5,
    )
    never = msgspec.structs.replace(warm, back=None, best_share=0.4, followed=63.3)
    came_back, did_not = (record(trial(), warm=each) for each in (warm, never))
    (row,) = recovery_rows([came_back, came_back, did_not], [image()])
    assert (row.followed, row.not_back, row.back_median_s, row.notpm_before) == (3, 1, 12.5, 5400.0)
    assert row.first_commit_median_s == 3.6
    table = recovery_table([row], [image()])
    cells = dict(zip([heading for heading, _ in table.headings], table.cells[0], strict=True))
    assert cells["first trx"] == "3.60"
    assert cells["90 % again"] == "12.50, 1 not"
    assert any("docs/workloads.md" in note for note in table.notes)
    # Behind 3.3 s to ready and half a second of rollback.
    last, width = bar_segments(row)[-1]
    assert last == "warm"
    assert width == pytest.approx(12.5 - 3.8)
    assert answer([row]).endswith("throughput was back at 90 % after 12.5 s.")

    (slow,) = recovery_rows([did_not], [image()])
    table = recovery_table([slow], [image()])
    cells = dict(zip([heading for heading, _ in table.headings], table.cells[0], strict=True))
    assert cells["90 % again"] == "not by 63 (40 %)"
    assert bar_segments(slow)[-1][0] == "rollback"
    assert "throughput was not back at 90 % while the clients were followed" in answer([slow])
    (plain,) = recovery_rows([record(trial())], [image()])
    assert "first trx" not in [heading for heading, _ in recovery_table([plain], [image()]).headings]
