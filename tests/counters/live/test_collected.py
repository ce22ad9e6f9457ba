"""What people already have, read back."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest
from rich.console import Console

from redolab.counters.live.collected import read_collected
from redolab.counters.live.sampling import kept_in, sample_live
from redolab.counters.series import series_of
from redolab.errors import InvalidInput
from redolab.servers.address import Address
from redolab.servers.redo_counters import Sample


def mysqladmin(values: list[dict[str, int]]) -> str:
    """As `mysqladmin extended-status -i` prints it."""
    tables = []
    for each in values:
        border = "+------------------------+-------------+\n"
        rows = "".join(f"| {name:<22} | {value:<11} |\n" for name, value in each.items())
        tables.append(f"{border}| Variable_name          | Value       |\n{border}{rows}{border}\n")
    return "".join(tables)


def table(number: int, **more: int) -> dict[str, int]:
    return {
        "Aborted_clients": 7,
        "Innodb_log_writes": 100 * number,
        "Innodb_os_log_written": 512_000 * number,
        "Uptime": 5000 + 10 * number,
        **more,
    }


def read(tmp_path: Path, name: str, text: str) -> list[Sample]:
    path = tmp_path / name
    path.write_text(text)
    return read_collected(path)


def test_mysqladmin_is_timed_by_uptime(tmp_path: Path) -> None:
    samples = read(tmp_path, "ext.txt", mysqladmin([table(each) for each in range(1, 5)]))
    assert [(each.monotonic, each.os_log_written, each.log_writes) for each in samples] == [
        (5000.0 + 10 * each, 512_000 * each, 100 * each) for each in range(1, 5)
    ]
    assert samples[0].wall is None


def test_relative_output_is_added_up(tmp_path: Path) -> None:
    for size, second in ((16384, 10), (16384, 50), (None, 10)):
        differences = {"Innodb_log_writes": 100, "Innodb_os_log_written": 512_000}
        first, page_size = table(1), {} if size is None else {"Innodb_page_size": 0}
        if size is not None:
            first["Innodb_page_size"] = size
        tables = [first, *({**differences, "Uptime": each, **page_size} for each in (10, second))]
        samples = read(tmp_path, "relative.txt", mysqladmin(tables))
        assert [each.os_log_written for each in samples] == [512_000, 1_024_000, 1_536_000]
        assert [each.uptime for each in samples] == [5010, 5020, 5020 + second]


@pytest.mark.parametrize("page_size", [{}, {"Innodb_page_size": 16384}])
def test_a_table_of_a_server_just_started_is_no_difference(page_size: dict[str, int], tmp_path: Path) -> None:
    tables = [table(1, **page_size), table(1, Uptime=300, **page_size)]
    samples = read(tmp_path, "ext.txt", mysqladmin(tables))
    assert [each.os_log_written for each in samples] == [512_000, 512_000]
    assert [segment.samples for segment in series_of(samples).segments] == [1, 1]


def test_a_server_that_was_restarted_meanwhile(tmp_path: Path) -> None:
    restarted = {**table(1), "Uptime": 3, "Innodb_os_log_written": 512}
    samples = read(tmp_path, "ext.txt", mysqladmin([table(1), table(2), restarted]))
    assert [segment.samples for segment in series_of(samples).segments] == [2, 1]


def test_an_lsn_of_each_family(tmp_path: Path) -> None:
    mariadb = table(1, Innodb_lsn_current=900, Innodb_lsn_last_checkpoint=400, Innodb_checkpoint_age=500)
    mysql = table(1, Innodb_redo_log_current_lsn=900, Innodb_redo_log_checkpoint_lsn=400)
    for text in (mysqladmin([mariadb]), mysqladmin([mysql])):
        (sample,) = read(tmp_path, "ext.txt", text)
        assert (sample.lsn, sample.checkpoint_age) == (900, 500)


@pytest.mark.parametrize(
    "text",
    [
        "time,lsn\n2026-11-21T10:00:00Z,1000\n2026-11-21T10:01:00Z,7000\n",
        "Timestamp;Innodb_lsn_current\n2026/11/21 10:00:00;1000\n2026/11/21 10:01:00;7000\n",
        "epoch\tLog_sequence_number\n1795255200\t1000\n1795255260\t7000\n",
        "ts,host,lsn\n1795255200000,a,1000\n1795255230000,a,\n1795255260000,a,7000\n",
        "time,lsn\n1795255200000000,1000\n1795255260000000,7000\n",
        "time,lsn\n1795255200000000000,1000\n1795255260000000000,7000\n",
    ],
)
def test_csv_with_a_time_and_an_lsn(tmp_path: Path, text: str) -> None:
    samples = read(tmp_path, "lsn.csv", text)
    assert [each.lsn for each in samples] == [1000, 7000]
    assert samples[1].monotonic - samples[0].monotonic == 60
    assert samples[0].wall == 1795255200


def test_a_table_with_the_newest_row_first(tmp_path: Path) -> None:
    samples = read(tmp_path, "newest.csv", "time,lsn\n1795255320,9000\n1795255260,7000\n1795255200,1000\n")
    assert [each.lsn for each in samples] == [1000, 7000, 9000]
    assert [segment.samples for segment in series_of(samples).segments] == [3]


def test_csv_with_os_log_written_alone_gives_a_range(tmp_path: Path) -> None:
    samples = read(tmp_path, "os.csv", "time,Innodb_os_log_written\n0,0\n3600,7677253222\n")
    (segment,) = series_of(samples).segments
    least, most = segment.whole.redo_per_hour or (0, 0)
    assert least < 2.70 * 2**30 < most == 7677253222


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_what_the_lab_kept_itself(tmp_path: Path, ending: str) -> None:
    kept = [
        Sample(monotonic=1.5 + each, wall=2.5 + each, lsn=each, os_log_written=each, uptime=each) for each in (1, 2)
    ]
    path = tmp_path / f"kept{ending}"
    with kept_in(path) as file:
        assert file is not None
        for sample in kept:
            file.append(sample)
    assert read_collected(path) == kept
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    if ending == ".parquet":
        assert polars.read_parquet(path)["lsn"].to_list() == [1, 2]


def test_the_samples_of_a_killed_run_are_not_overwritten(tmp_path: Path) -> None:
    kept, left = tmp_path / "kept.parquet", tmp_path / "kept.parquet.partial.csv"
    left.write_text("all that a killed run has left")
    with pytest.raises(InvalidInput):
        sample_live(Console(), Address(host="h"), 1.0, 1.0, kept)
    assert left.read_text() == "all that a killed run has left"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.csv", "when,how\n1,2\n", ""),
        ("a.csv", "time,lsn\nyesterday,2\n", ", line 2"),
        ("a.csv", "time,lsn\n1,many\n", ", line 2"),
        ("a.csv", "time,lsn\n", ""),
        ("a.csv", "", ""),
        ("a.csv", "monotonic,wall,lsn\n1,soon,2\n", ", line 2"),
        ("a.txt", "| Variable_name | Value |\n| Innodb_os_log_written | 5 |\n", ""),
        ("a.parquet", "no parquet", ""),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, text: str, line: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read(tmp_path, name, text)
    assert error.value.problem.startswith(f"{tmp_path / name}{line}")


def test_files_of_the_lab_that_were_joined_or_cut_off_are_read(tmp_path: Path) -> None:
    one, two = (Sample(monotonic=1.5 + each, wall=2.5 + each, lsn=each, uptime=each) for each in (1, 2))
    with kept_in(tmp_path / "one.csv") as file:
        assert file is not None
        file.append(one)
    with kept_in(tmp_path / "two.csv") as file:
        assert file is not None
        file.append(two)
    texts = [(tmp_path / name).read_text() for name in ("one.csv", "two.csv")]
    assert read(tmp_path, "joined.csv", "".join(texts)) == [one, two]
    cut = texts[1][: texts[1].rindex(",")]
    assert read(tmp_path, "cut.csv", texts[0] + cut[: cut.rindex(",")]) == [one]
