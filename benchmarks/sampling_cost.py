"""Cost of sampling once a second for the workload: the same load with and without, in pairs, interleaved.

.venv/bin/python -m benchmarks.sampling_cost
"""

from __future__ import annotations

import statistics
import time
from contextlib import nullcontext

from pymysql.connections import Connection
from scipy import stats

from benchmarks.instances import SERVER, THREADS, Loaded, at_rest, bench_lab, under_load
from redolab.counters.sampler import Sampler
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.instance import Instance
from redolab.servers.redo_counters import Sample
from redolab.units import GIB, MIB

_PAIRS = 60
# Short, so that the disk's own moods, which last for seconds, fall on both halves of a pair alike.
_BLOCK = 1.5
_ANSWERS = 500
_COUNTED = 5000
_WARM_UP = 10.0
_CONFIDENCE = 0.95
_REQUEST = InstanceRequest(purpose=Purpose.RECOVER, log_size=2 * GIB, buffer_pool=1 * GIB, flush_log_at_trx_commit=2)


def main() -> None:
    """Measure the pairs and print the mean difference with its interval."""
    with (
        bench_lab() as lab,
        under_load(lab, "oltp_write_only", 256 * MIB, _REQUEST) as loaded,
        loaded.instance.connections.connect() as counting,
        loaded.instance.connections.connect() as sampling,
    ):
        time.sleep(_WARM_UP)
        costs = []
        for pair in range(_PAIRS):
            # ABBA: a drift of the machine or of the server's state falls on both alike.
            order = (True, False) if pair % 2 else (False, True)
            rates = {sampled: _rate(loaded, counting, sampling, sampled) for sampled in order}
            costs.append(1 - rates[True] / rates[False])
        answers = [_answer(loaded, sampling) for _ in range(_ANSWERS)]
    with bench_lab() as lab, at_rest(lab, _REQUEST) as instance, instance.connections.connect() as connection:
        server, sampler = _processor_time(instance, connection)
    mean = statistics.mean(costs)
    half = stats.sem(costs) * stats.t.ppf((1 + _CONFIDENCE) / 2, len(costs) - 1)
    print(f"{SERVER}, oltp_write_only, {THREADS} clients, {_PAIRS} pairs of {_BLOCK} s")
    print(
        f"cost of sampling once a second: {mean:.2%} of the commits, 95 % interval {mean - half:.2%} to {mean + half:.2%}"
    )
    print(
        f"processor time of a sample: {server * 1000:.2f} ms of the server, {sampler * 1000:.2f} ms of the sampler "
        f"({_COUNTED} samples of a server at rest); once a second that is {server + sampler:.3%} of a core"
    )
    print(
        f"one sample is answered in {statistics.median(answers) * 1000:.2f} ms under that load (median of {_ANSWERS})"
    )


def _processor_time(instance: Instance, connection: Connection) -> tuple[float, float]:
    """Return the CPU seconds a sample takes from the server, which is otherwise idle, and from the sampler."""
    before, began = instance.cpu_use(), time.thread_time()
    for _ in range(_COUNTED):
        instance.sample(connection)
    ended, after = time.thread_time(), instance.cpu_use()
    assert before is not None
    assert after is not None
    return (after.seconds - before.seconds) / _COUNTED, (ended - began) / _COUNTED


def _rate(loaded: Loaded, counting: Connection, sampling: Connection, sampled: bool) -> float:
    def take() -> Sample:
        return loaded.instance.sample(sampling)

    kept: list[Sample] = []
    with Sampler(take, 1.0, kept.append) if sampled else nullcontext():
        began, first = time.monotonic(), _commits(counting)
        time.sleep(_BLOCK)
        ended, last = time.monotonic(), _commits(counting)
    assert len(kept) == (int(_BLOCK) + 1 if sampled else 0)
    return (last - first) / (ended - began)


def _answer(loaded: Loaded, sampling: Connection) -> float:
    began = time.monotonic()
    loaded.instance.sample(sampling)
    return time.monotonic() - began


def _commits(connection: Connection) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_commit'")
        row = cursor.fetchone()
        assert row is not None
        return int(row[1])


if __name__ == "__main__":
    main()
