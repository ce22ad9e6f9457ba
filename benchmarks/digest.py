"""Time of `redolab slowlog digest`, beside pt-query-digest and mysqldumpslow, on one log made from a seed.

.venv/bin/python -m benchmarks.digest [SIZE] [FOLDER]

The default SIZE is 1G. The benchmark writes the log into FOLDER (by default the folder for temporary files) and
removes it at the end. It skips programs that are not installed, and pt-query-digest and mysqldumpslow above 2G.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from redolab.units import GIB, MIB, format_size, parse_size

SEED = 20240501
_ZIPF = 1.1
_FULL_COMPARISON = 2 * GIB
_WORDS = [
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "hotel",
    "india",
    "juliet",
    "kilo",
    "lima",
    "mike",
    "november",
]
Made = Callable[[random.Random], str]


def _text(r: random.Random, length: int) -> str:
    return f"{r.getrandbits(length * 4):0{length}x}"


def _numbers(r: random.Random, most: int) -> str:
    return ", ".join(str(r.randint(1, 10_000_000)) for _ in range(r.randint(1, most)))


def _sysbench(r: random.Random) -> Iterator[Made]:
    for table in range(1, 5):
        yield lambda r, t=table: f"SELECT c FROM sbtest{t} WHERE id={r.randint(1, 10**6)}"  # type: ignore[misc]
    yield lambda r: f"SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN {(n := r.randint(1, 10**6))} AND {n + 99}"
    yield lambda r: f"SELECT c FROM sbtest1 WHERE id BETWEEN {(n := r.randint(1, 10**6))} AND {n + 99} ORDER BY c"
    yield lambda r: f"UPDATE sbtest1 SET k=k+1 WHERE id={r.randint(1, 10**6)}"
    yield lambda r: f"UPDATE sbtest1 SET c='{_text(r, 119)}' WHERE id={r.randint(1, 10**6)}"
    yield lambda r: f"DELETE FROM sbtest1 WHERE id={r.randint(1, 10**6)}"
    yield (
        lambda r: (
            f"INSERT INTO sbtest1 (id, k, c, pad) VALUES({r.randint(1, 10**6)}, {r.randint(1, 10**6)}, "
            f"'{_text(r, 119)}', '{_text(r, 59)}')"
        )
    )
    yield lambda r: "COMMIT"
    yield lambda r: "BEGIN"


def _tpcc(r: random.Random) -> Iterator[Made]:
    yield (
        lambda r: (
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse "
            f"WHERE w_id = {r.randint(1, 100)} AND c_w_id = w_id AND c_d_id = {r.randint(1, 10)} AND c_id = {r.randint(1, 3000)}"
        )
    )
    yield (
        lambda r: (
            f"UPDATE district SET d_next_o_id = {r.randint(1, 9999)} + 1 WHERE d_id = {r.randint(1, 10)} AND d_w_id = 7"
        )
    )
    yield (
        lambda r: (
            f"UPDATE stock SET s_quantity = {r.randint(1, 99)}, s_ytd = s_ytd + {r.randint(1, 9)}, s_order_cnt = s_order_cnt + 1 "
            f"WHERE s_i_id = {r.randint(1, 10**5)} AND s_w_id = {r.randint(1, 100)}"
        )
    )
    yield (
        lambda r: (
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_quantity, ol_amount, ol_dist_info) VALUES "
            + ", ".join(
                f"({r.randint(1, 9999)}, 3, 7, {n}, {r.randint(1, 10**5)}, 5, {r.random() * 999:.2f}, '{_text(r, 24)}')"
                for n in range(r.randint(5, 15))
            )
        )
    )
    yield (
        lambda r: (
            "SELECT COUNT(DISTINCT (s_i_id)) FROM order_line, stock\n WHERE ol_w_id = 7 AND ol_d_id = 3\n"
            f"   AND ol_o_id < {(n := r.randint(21, 9999))} AND ol_o_id >= {n - 20}\n   AND s_w_id = 7 AND s_i_id = ol_i_id\n"
            f"   AND s_quantity < {r.randint(10, 20)}"
        )
    )


def _orm(r: random.Random) -> Iterator[Made]:
    for table in range(34):
        columns = ", ".join(f"`t{table}`.`{r.choice(_WORDS)}_{n}`" for n in range(r.randint(4, 25)))
        name = f"`app_{r.choice(_WORDS)}_{chr(97 + table % 26)}`"
        if table % 3 == 0:
            yield lambda r, c=columns, n=name: f"SELECT {c} FROM {n} WHERE id IN ({_numbers(r, 40)})"  # type: ignore[misc]
        elif table % 3 == 1:
            yield lambda r, c=columns, n=name: (  # type: ignore[misc]
                f"SELECT {c} FROM {n} WHERE {n}.`name` = '{r.choice(_WORDS)} O\\'{_text(r, 6)}' AND deleted_at IS NULL LIMIT 1"
            )
        else:
            yield lambda r, c=columns, n=name: (  # type: ignore[misc]
                f"SELECT {c} FROM {n} WHERE `created` > '2024-05-01 10:00:{r.randint(10, 59)}' ORDER BY id DESC LIMIT 20, 20 "
                f"/* request:{_text(r, 16)} */"
            )
    for table in range(4):
        yield lambda r, t=table: (  # type: ignore[misc]
            f"INSERT INTO audit_{'abcd'[t]} (at, who, what) VALUES "
            + ",".join(f"('2024-05-01 10:00:00', {r.randint(1, 999)}, '{_text(r, 40)}')" for _ in range(150))
        )
    for table in range(5):
        yield lambda r, t=table: (  # type: ignore[misc]
            f"UPDATE jobs_{'abcde'[t]}\nSET state = 'done',\n    payload = '{{\\\"id\\\": {r.randint(1, 10**6)}}}'\n"
            f"WHERE id = {r.randint(1, 10**6)}"
        )


def write_log(path: Path, size: int, seed: int = SEED) -> None:
    """Write a slow query log of about `size` bytes, in MySQL 8's form."""
    r = random.Random(seed)
    made = [*_sysbench(r), *_tpcc(r), *_orm(r)]
    r.shuffle(made)
    weights = [1 / (rank + 1) ** _ZIPF for rank in range(len(made))]
    at, written = datetime(2024, 5, 1, 10, tzinfo=UTC), 0
    with path.open("w", encoding="utf-8") as log:
        while written < size:
            lines = []
            for which in r.choices(range(len(made)), weights, k=10_000):
                at += timedelta(microseconds=r.randint(1, 4000))
                lines.append(
                    f"# Time: {at:%Y-%m-%dT%H:%M:%S.%f}Z\n# User@Host: app[app] @ web{which % 4} [10.0.0.{which % 9}]  "
                    f"Id: {r.randint(1, 200):5d}\n# Query_time: {r.lognormvariate(-7 + which % 5, 1):.6f}  "
                    f"Lock_time: {r.random() / 10_000:.6f} Rows_sent: {r.randint(0, 20)}  "
                    f"Rows_examined: {r.randint(0, 5000)}\nSET timestamp={int(at.timestamp())};\n{made[which](r)};\n"
                )
            written += log.write("".join(lines))


def main() -> None:
    """Write the log, have each read it, print what that took."""
    size = parse_size(sys.argv[1] if len(sys.argv) > 1 else "1G")
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        log = Path(folder) / "slow.log"
        write_log(log, size)
        readers = {"redolab slowlog digest": [sys.executable, "-m", "redolab", "slowlog", "digest", str(log)]}
        if size <= _FULL_COMPARISON:
            readers["pt-query-digest"] = ["pt-query-digest", "--no-version-check", str(log)]
            readers["mysqldumpslow"] = ["mysqldumpslow", str(log)]
        print(f"a log of {format_size(log.stat().st_size)}, {os.cpu_count()} cores")
        for name, command in readers.items():
            if shutil.which(command[0]) is None:
                print(f"{name:24} not installed")
                continue
            # Each reads what lies in the page cache.
            subprocess.run(["cat", str(log)], stdout=subprocess.DEVNULL, check=True)
            cost = _measured(command)
            print(
                f"{name:24} {cost.seconds:7.1f} s  {log.stat().st_size / cost.seconds / MIB:7.1f} MiB/s"
                f"  {cost.processor:7.1f} s of processor  {cost.memory / MIB:6.0f} MiB of memory",
                flush=True,
            )


@dataclass(frozen=True, slots=True)
class _Cost:
    """Wall seconds, CPU seconds, and largest memory in bytes."""

    seconds: float
    processor: float
    memory: int


def _measured(command: list[str]) -> _Cost:
    begun = time.monotonic()
    # pt-query-digest says there how far it is.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with status {process.returncode}")
    return _Cost(time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


if __name__ == "__main__":
    main()
