"""Slow query logs to classes of queries: as pt-query-digest has them, however the log lies on the disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec
import polars as pl
import pytest
import zstandard

from redolab.errors import Interrupted, LabError
from redolab.slowlog.digest.classes import Digest, Distribution
from redolab.slowlog.digest.digesting import digest
from redolab.slowlog.digest.fingerprints import fingerprint
from redolab.slowlog.digest.shapes import with_shapes
from redolab.slowlog.digest.sources import in_order
from redolab.slowlog.digest.spill import Spill
from tests.slowlog.digest import making
from tests.slowlog.digest.golden import FORMS, REAL, SLOW, as_lines
from tests.slowlog.digest.pt_query_digest import differences, is_installed, kept_classes, their_classes
from tests.thorough import mostly_thorough

_FINGERPRINTS = Path(__file__).parent / "fingerprints.json"
_LOG = SLOW / "mysql-8.0.log"
_MARIADB = SLOW / "mariadb-11.8.log"
# bzip2 by blocks of 100 kB, as no part of a block can be unpacked.
_PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": partial(bz2.compress, compresslevel=1),
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}


def without_files(found: Digest) -> Digest:
    """Return the part of a digest that must be the same wherever the log was cut."""
    return msgspec.structs.replace(found, files=())


@pytest.mark.parametrize("log", [*REAL, *FORMS], ids=lambda log: log.stem)
def test_a_log_has_the_digest_beside_it(log: Path) -> None:
    assert as_lines(digest([log])) == log.with_suffix(".json").read_text(encoding="utf-8")


@pytest.mark.parametrize("log", REAL, ids=lambda log: log.stem)
def test_a_servers_log_has_the_classes_that_pt_query_digest_finds(log: Path) -> None:
    assert list(differences(digest([log]), kept_classes(log))) == []


@pytest.mark.parametrize("log", REAL[::3], ids=lambda log: log.stem)
def test_a_log_in_200_pieces_is_the_same_log(log: Path, tmp_path: Path) -> None:
    files = making.pieces(log.read_bytes(), tmp_path, seed=len(log.stem))
    assert without_files(digest(files)) == without_files(digest([log]))


@pytest.mark.parametrize("chunk", [1, 100, 5000, 20_000])
@pytest.mark.parametrize("log", [_LOG, _MARIADB], ids=lambda log: log.stem)
def test_chunks_make_no_difference(log: Path, chunk: int) -> None:
    assert without_files(digest([log], chunk=chunk)) == without_files(digest([log]))


@pytest.mark.parametrize("seed", mostly_thorough(range(300), range(3)))
def test_logs_from_a_seed_are_the_same_in_pieces_and_in_chunks_and_to_pt_query_digest(
    seed: int, tmp_path: Path
) -> None:
    content = making.log(seed)
    whole = tmp_path / "whole.log"
    whole.write_bytes(content)
    found = digest([whole])
    assert not is_installed() or list(differences(found, their_classes(whole))) == []
    assert without_files(found) == without_files(digest(making.pieces(content, tmp_path, seed)))
    in_chunks = digest([whole], chunk=random.Random(seed).randrange(1, len(content)))
    assert without_files(found) == without_files(in_chunks)


def test_fingerprints_are_those_of_pt_query_digest() -> None:
    for text, wanted in msgspec.json.decode(_FINGERPRINTS.read_bytes(), type=list[tuple[str, str]]):
        assert fingerprint(text.encode()) == wanted.encode(), text


def test_statements_of_one_shape_have_one_fingerprint() -> None:
    r = random.Random(1)
    texts = ["call p1(2)", *(making.statement(r) for _ in range(3000))]
    # The same statements with other literals.
    texts += [text.translate(str.maketrans("15xy", "27wz")) for text in texts]
    shaped = with_shapes(pl.DataFrame({"text": texts}))
    of_shape: dict[int, set[bytes]] = {}
    for text, shape in shaped.iter_rows():
        of_shape.setdefault(shape, set()).add(fingerprint(text.encode()))
    assert all(len(fingerprints) == 1 for fingerprints in of_shape.values())


def test_percentiles_are_exact_and_the_disk_makes_no_difference() -> None:
    r = random.Random(3)
    times = sorted(int(r.lognormvariate(8, 2)) for _ in range(3001))
    frame = pl.DataFrame({"number": 0, "us": r.sample(times, len(times)), "n": 1}).cast(
        {"number": pl.UInt32, "n": pl.UInt32}
    )
    figures: list[tuple[int, Distribution, int, float]] = []
    for most_kept in (10, 10**9):
        with closing(Spill(most_kept)) as spill:
            for part in frame.iter_slices(100):
                spill.add(part)
            figures.extend(spill.figures({0: len(times)}))
            assert bool(spill.bytes) == (most_kept == 10)
    assert figures[0] == figures[1]
    _, seconds, outliers, beyond = figures[0]
    mean = sum(times) / len(times)
    assert seconds.p95 == times[math.floor(0.95 * 3001) - 1] / 1e6
    assert seconds.p99 == times[math.floor(0.99 * 3001) - 1] / 1e6
    assert seconds.median == times[1500] / 1e6
    assert seconds.stddev == pytest.approx((sum((time - mean) ** 2 for time in times) / 3001) ** 0.5 / 1e6)
    assert outliers == sum(time / 1e6 > beyond for time in times)


@pytest.mark.parametrize("packing", _PACKINGS)
def test_compressed_logs_are_read(packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = _PACKINGS[packing](_LOG.read_bytes())
    (tmp_path / "a.log").write_bytes(packed)
    assert without_files(digest([tmp_path / "a.log"])) == without_files(digest([_LOG]))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert without_files(digest([Path("-")])) == without_files(digest([_LOG]))


def test_a_log_compressed_piece_by_piece_is_read_whole(tmp_path: Path) -> None:
    content = _LOG.read_bytes()
    for packing, pack in _PACKINGS.items():
        (tmp_path / packing).write_bytes(pack(content[:5000]) + pack(content[5000:]))
        assert without_files(digest([tmp_path / packing])) == without_files(digest([_LOG]))


@pytest.mark.parametrize("end", [b"", b"\xff" * 1000], ids=["cut-off", "damaged"])
@pytest.mark.parametrize("packing", _PACKINGS)
def test_a_compressed_log_is_read_as_far_as_it_can_be_unpacked(packing: str, end: bytes, tmp_path: Path) -> None:
    content = b"".join(making.log(seed, records=400) for seed in range(4))
    (tmp_path / "a.log").write_bytes(_PACKINGS[packing](content)[:-1000] + end)
    (tmp_path / "whole.log").write_bytes(content)
    found = digest([tmp_path / "a.log"])
    assert 0 < found.count < digest([tmp_path / "whole.log"]).count
    assert found.files[0].broken


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_temporary_files(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        assert list(tmp_path.iterdir())
        os.kill(os.getpid(), number)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("redolab.slowlog.digest.digesting.Spill", partial(Spill, 1))
    monkeypatch.setattr(Spill, "figures", interrupted)
    # Under nohup SIGHUP is ignored.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(Interrupted):
            digest([_LOG])
    finally:
        signal.signal(number, before)
    assert list(tmp_path.iterdir()) == []


def test_a_file_name_that_is_not_utf_8_is_in_the_digest(tmp_path: Path) -> None:
    log = tmp_path / os.fsdecode(b"caf\xe9.log")
    log.write_bytes(_LOG.read_bytes())
    assert b"caf\xef\xbf\xbd.log" in msgspec.json.encode(digest([log]))


def test_a_rotated_set_is_read_from_the_oldest_on() -> None:
    names = ["slow.log", "slow.log.1", "slow.log.10.gz", "slow.log.2.gz", "other.log", "p.000", "p.001"]
    assert [path.name for path in in_order([Path(name) for name in names])] == [
        "slow.log.10.gz", "slow.log.2.gz", "slow.log.1", "slow.log", "other.log", "p.000", "p.001",
    ]  # fmt: skip


def test_logs_of_other_servers_do_not_run_into_each_other(tmp_path: Path) -> None:
    cut = tmp_path / "cut.log"
    cut.write_bytes(_LOG.read_bytes().rstrip()[:-5])
    both = digest([cut, _MARIADB])
    assert both.count == digest([_LOG]).count - 1 + digest([_MARIADB]).count
    assert both.skipped.cut_off == 1


def _stamped(log: Path, since: str = "", until: str = "") -> Digest:
    return digest(
        [log],
        since=datetime.fromisoformat(since) if since else None,
        until=datetime.fromisoformat(until) if until else None,
    )


def test_since_and_until_take_the_queries_between() -> None:
    log = SLOW / "forms" / "rds-mysql.log"
    assert _stamped(log, "2024-05-01T10:30").count == 1
    assert _stamped(log, "2024-05-01T12:30+02:00").skipped.outside == 1
    assert _stamped(log, until="2024-05-01T11:00:00.000001").count == 1
    assert _stamped(log, until="2024-05-01T11:00:00.000002").count == 2
    # The stamps of 5.1 are local, so that only SET timestamp tells the time in UTC.
    assert _stamped(SLOW / "forms" / "mysql-5.1.log", "2010-12-21T00:00:00Z").count == 1


_OTHERS = {
    "general.log": (
        b"/usr/sbin/mysqld, Version: 8.0.36. started with:\nTcp port: 3306  Unix socket: /x\n"
        b"Time                 Id Command    Argument\n2024-05-01T10:00:00.123456Z\t    8 Connect\troot@localhost\n",
        "is a general query log",
    ),
    "old-general.log": (b"101220 21:54:31\t    8 Query\tselect 1\n", "is a general query log"),
    "error.log": (
        b"2024-05-01T10:00:00.123456Z 0 [System] [MY-010116] [Server] starting as process 1\n",
        "is an error log",
    ),
    "mariadb.err": (b"2024-05-01 10:00:00 0 [Note] InnoDB: Starting\n", "is an error log"),
    "binlog.000001": (b"\xfebin\x00\x01\x02" * 100, "is a binary log"),
    "pages.ibd": (b"\0\1\2\xff" * 4000, "is a binary file"),
    "dump.sql": (b"-- MySQL dump 10.13  Distrib 8.0.36\n--\n", "is a dump"),
    "notes.txt": (b"buy milk\n", "no slow query log"),
    "empty.log": (b"", "it is empty"),
    "opened.log": (
        b"/usr/sbin/mysqld, Version: 8.0.36. started with:\nTcp port: 3306  Unix socket: /x\n"
        b"Time                 Id Command    Argument\n",
        "only its first lines",
    ),
}


@pytest.mark.parametrize("name", _OTHERS)
def test_what_is_no_slow_query_log_is_named_in_one_line(name: str, tmp_path: Path) -> None:
    content, what = _OTHERS[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LabError) as raised:
        digest([tmp_path / name])
    assert what in str(raised.value)
    assert "\n" not in str(raised.value)
    assert name in str(raised.value)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_logs_are_read_or_refused_in_one_line(seed: int, tmp_path: Path) -> None:
    r = random.Random(seed)
    content = bytearray(making.log(seed, records=20))
    for _ in range(r.randint(1, 30)):
        at = r.randrange(len(content))
        content[at : at + r.randint(0, 40)] = r.randbytes(r.randint(0, 5))
    log = tmp_path / "damaged.log"
    log.write_bytes(content)
    assert _count_or_refusal(log, r.choice((50, 1000, 1 << 20)))


def _count_or_refusal(log: Path, chunk: int) -> bool:
    try:
        return digest([log], chunk=chunk).count > 0
    except LabError as error:
        return "\n" not in str(error)


def test_a_record_too_long_keeps_its_figures_and_is_said(tmp_path: Path) -> None:
    head = b"# User@Host: a[a] @ b []\n# Query_time: 0.5  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n"
    log = tmp_path / "long.log"
    log.write_bytes(head + b"insert into t values('" + b"x" * (17 << 20) + b"');\n" + head + b"select '\xff';\n")
    found = digest([log])
    assert [each.fingerprint for each in found.classes] == ["insert into t values(?+)", "select ?"]
    assert found.notes


def test_a_statement_has_one_class_whatever_encoding_stands_beside_it(tmp_path: Path) -> None:
    """Statements in UTF-8 and latin-1 and with a binary string: classes do not depend on where a chunk ends."""
    head = b"# User@Host: a[a] @ b []\n# Query_time: 0.5  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n"
    use = "use `à la carte`;\n".encode()
    statements = ["select `é`".encode(), "select `é`".encode("latin-1"), b"select '\xff'"]
    log = tmp_path / "mixed.log"
    log.write_bytes(b"".join(head + use + each + b";\n" for each in [*statements[:2], *statements]))
    whole = without_files(digest([log]))
    assert {(each.fingerprint, each.count, each.bytes.max) for each in digest([log]).classes} == {
        ("select `é`", 2, 11),
        ("select `\N{REPLACEMENT CHARACTER}`", 2, 10),
        ("select ?", 1, 10),
    }
    for chunk in (1, 150, 300, 400):
        found = digest([log], chunk=chunk)
        assert without_files(found) == whole
        assert {each.example.database for each in found.classes} == {"à la carte"}


def test_what_comes_through_a_pipe_is_read_whole(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(_LOG.read_bytes()))
    writer.start()
    found = digest([pipe])
    writer.join()
    assert found.count == digest([_LOG]).count


def test_a_database_is_named_without_the_quotes_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_text(
        "# Time: 240101 10:00:00\n# User@Host: a[a] @ localhost []\n"
        "# Query_time: 1.0  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\n"
        "use `my``shop`;\nSET timestamp=1704103200;\nSELECT 1;\n"
        "# Time: 240101 10:00:10\n# User@Host: a[a] @ localhost []\n"
        "# Query_time: 1.0  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\n"
        "SET timestamp=1704103210;\nSELECT 2;\n"
    )
    assert digest([log]).classes[0].example.database == "my`shop"
    # Also where the line that names it is before what is asked for.
    (found,) = digest([log], since=datetime(2024, 1, 1, 10, 0, 5)).classes
    assert found.example.database == "my`shop"
