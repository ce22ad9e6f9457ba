"""Reports of go-tpc and tpcc-mysql during a run, as one kind of series."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from redolab.workloads.data import WorkloadMoment

_CURRENT = "[Current]"
_ERRORS = "_ERR"
_NEW_ORDER = "NEW_ORDER"
_TRX = re.compile(
    r"\s*\d+, trx: (?P<new_orders>\d+), 95%: (?P<latency>[\d.]+), 99%: [\d.]+, max_rt: [\d.]+(?P<others>(?:, \d+\|[\d.]+){4})"
)
# tpcc-mysql before 2014 prints for each of the five transactions: number, (late ones), 90 % of response times |
# longest.
_LATE = re.compile(r"\s*\d+(?P<counts>(?:, \d+\(\d+\):[\d.]+(?:\|[\d.]+)?){5})")
_OTHER_COUNT = re.compile(r", (\d+)[|(]")


class GoTpcReports:
    """Parser of go-tpc's reports (`--output json`).

    go-tpc's own rates are per transaction type, each counted from the first of that type in the interval: too high
    for rare types. Here a rate is the count since the last report, divided by the time since then. An interval in
    which nothing ended has no report.
    """

    def __init__(self, load_began: float) -> None:
        self._last = load_began

    def moment(self, text: str, arrival: float) -> WorkloadMoment | None:
        """Return the report in a line, on the time since the last report; None if it reports no transactions."""
        counts = _counted(text)
        seconds = arrival - self._last
        if counts is None or seconds <= 0:
            return None
        self._last = arrival
        failed = sum(each.count for each in counts if each.failed)
        return WorkloadMoment(
            monotonic=arrival,
            commits_per_second=sum(each.count for each in counts if not each.failed) / seconds,
            errors_per_second=failed / seconds,
            latency_95_ms=next((each.latency_95_ms for each in counts if each.operation == _NEW_ORDER), None),
            latency_99_ms=next((each.latency_99_ms for each in counts if each.operation == _NEW_ORDER), None),
            new_orders_per_second=sum(each.count for each in counts if each.operation == _NEW_ORDER) / seconds,
        )


class _Counted(msgspec.Struct, frozen=True):
    """An operation of a report; all values are text."""

    prefix: str = msgspec.field(name="Prefix")
    operation: str = msgspec.field(name="Operation")
    written_count: str = msgspec.field(name="Count", default="")
    """Empty in reports of keying and think times."""
    written_latency: str = msgspec.field(name="95th(ms)", default="0")
    written_latency_99: str = msgspec.field(name="99th(ms)", default="")

    @property
    def count(self) -> int:
        """Return the number of operations that ended."""
        return int(self.written_count)

    @property
    def latency_95_ms(self) -> float:
        """95th percentile of their latencies."""
        return float(self.written_latency)

    @property
    def latency_99_ms(self) -> float | None:
        """99th percentile of their latencies; None where it is not said."""
        return float(self.written_latency_99) if self.written_latency_99 else None

    @property
    def failed(self) -> bool:
        """Return True if this entry counts operations that ended in an error."""
        return self.operation.endswith(_ERRORS)


def _counted(text: str) -> Sequence[_Counted] | None:
    if not text.startswith("[{"):
        return None
    try:
        report = msgspec.json.decode(text, type=list[_Counted])
    except msgspec.DecodeError:
        return None
    of_now = [each for each in report if each.prefix.strip() == _CURRENT and each.written_count]
    return of_now or None


class TpccMysqlReports:
    """Parser of the lines of `tpcc_start`: new orders, then payments, order status, deliveries, stock levels."""

    def __init__(self, interval: float) -> None:
        self._interval = interval

    def moment(self, text: str, arrival: float) -> WorkloadMoment | None:
        """Return the report in a line, for the interval before its arrival; None if the line has none."""
        if match := _TRX.match(text):
            new_orders, others = int(match["new_orders"]), [int(each) for each in _OTHER_COUNT.findall(match["others"])]
            latency = float(match["latency"])
        elif match := _LATE.match(text):
            new_orders, *others = (int(each) for each in _OTHER_COUNT.findall(match["counts"]))
            latency = None
        else:
            return None
        return WorkloadMoment(
            monotonic=arrival,
            commits_per_second=(new_orders + sum(others)) / self._interval,
            latency_95_ms=latency,
            new_orders_per_second=new_orders / self._interval,
        )
