"""Reports of go-tpc and tpcc-mysql during a run, as one kind of series."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from redolab.workloads.data import WorkloadReport

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

    def report_in(self, text: str, arrival: float) -> WorkloadReport | None:
        """Return the report in a line, on the time since the last report; None if it reports no transactions."""
        counts = _counted(text)
        seconds = arrival - self._last
        if not counts or seconds <= 0:
            return None
        self._last = arrival
        failed = sum(each.count for each in counts if each.operation.endswith(_ERRORS))
        new_orders = next((each for each in counts if each.operation == _NEW_ORDER), None)
        return WorkloadReport(
            monotonic=arrival,
            commits_per_second=(sum(each.count for each in counts) - failed) / seconds,
            errors_per_second=failed / seconds,
            latency_95_ms=None if new_orders is None else new_orders.latency_95_ms,
            latency_99_ms=None if new_orders is None else new_orders.latency_99_ms,
            new_orders_per_second=0.0 if new_orders is None else new_orders.count / seconds,
        )


class _Counted(msgspec.Struct, frozen=True):
    """An operation of a report, in which all numbers are text."""

    prefix: str = msgspec.field(name="Prefix")
    operation: str = msgspec.field(name="Operation")
    count: int = msgspec.field(name="Count", default=0)
    """Operations that ended. Reports of keying and think times have none."""
    latency_95_ms: float = msgspec.field(name="95th(ms)", default=0.0)
    latency_99_ms: float | None = msgspec.field(name="99th(ms)", default=None)


def _counted(text: str) -> Sequence[_Counted]:
    """Return the operations that ended since the last report; none where the line is no report."""
    try:
        report = msgspec.json.decode(text, type=list[_Counted], strict=False)
    except msgspec.DecodeError:
        return ()
    return [each for each in report if each.prefix.strip() == _CURRENT and each.count]


class TpccMysqlReports:
    """Parser of the lines of `tpcc_start`: new orders, then payments, order status, deliveries, stock levels."""

    def __init__(self, interval: float) -> None:
        self._interval = interval

    def report_in(self, text: str, arrival: float) -> WorkloadReport | None:
        """Return the report in a line, for the interval before its arrival; None if the line has none."""
        if match := _TRX.match(text):
            new_orders, others = int(match["new_orders"]), [int(each) for each in _OTHER_COUNT.findall(match["others"])]
            latency = float(match["latency"])
        elif match := _LATE.match(text):
            new_orders, *others = (int(each) for each in _OTHER_COUNT.findall(match["counts"]))
            latency = None
        else:
            return None
        return WorkloadReport(
            monotonic=arrival,
            commits_per_second=(new_orders + sum(others)) / self._interval,
            latency_95_ms=latency,
            new_orders_per_second=new_orders / self._interval,
        )
