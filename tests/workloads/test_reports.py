"""What the programs say, as they said it: go-tpc v1.0.12 here, tpcc-mysql as its users published it."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.workloads.data import WorkloadReport
from redolab.workloads.tpcc.reports import GoTpcReports, TpccMysqlReports

RECORDED = Path(__file__).parent / "recorded"


def read(parser: GoTpcReports | TpccMysqlReports, name: str, every: float) -> list[WorkloadReport]:
    """Return the reports in a recorded output; `every`: seconds between two of them."""
    reports: list[WorkloadReport] = []
    for line in (RECORDED / name).read_text().splitlines():
        report = parser.report_in(line, (len(reports) + 1) * every)
        if report is not None:
            reports.append(report)
    return reports


def test_lines_of_tpcc_mysql_are_a_series_at_its_interval() -> None:
    reports = read(TpccMysqlReports(1.0), "tpcc-mysql.txt", 1.0)
    assert [report.new_orders_per_second for report in reports] == [1365, 1343, 1323]
    assert reports[0].commits_per_second == 1365 + 1360 + 3 * 137
    assert reports[0].latency_95_ms == 18.365
    assert [report.monotonic for report in reports] == [1.0, 2.0, 3.0]


def test_so_are_those_of_its_earlier_versions() -> None:
    reports = read(TpccMysqlReports(10.0), "tpcc-mysql-2013.txt", 10.0)
    assert [report.new_orders_per_second for report in reports] == [68.6, 67.6]
    assert reports[1].commits_per_second == pytest.approx((676 + 679 + 67 + 68 + 67) / 10)
    assert reports[1].latency_95_ms is None


def test_reports_of_go_tpc_are_a_series_of_what_was_counted_since_the_one_before() -> None:
    reports = read(GoTpcReports(0.0), "go-tpc.txt", 1.0)
    assert len(reports) == 3
    for report in reports:
        assert report.new_orders_per_second is not None
        assert 0 < report.new_orders_per_second < report.commits_per_second
        assert report.latency_95_ms


REPORT = (
    '[{"Prefix":"[Current] ","Operation":"NEW_ORDER","Takes(s)":"0.9","Count":"90","TPM":"6000.0","95th(ms)":"9.4","99th(ms)":"14.7"},'
    '{"Prefix":"[Current] ","Operation":"NEW_ORDER_ERR","Takes(s)":"0.2","Count":"4","TPM":"1200.0","95th(ms)":"1.0"},'
    '{"Prefix":"[Current] ","Operation":"DELIVERY","Takes(s)":"0.1","Count":"10","TPM":"6000.0","95th(ms)":"30.1"}]'
)


def test_a_rate_is_by_the_time_since_the_last_report_and_not_since_the_first_transaction_of_its_kind() -> None:
    parser = GoTpcReports(100.0)
    report = parser.report_in(REPORT, 102.0)
    assert report == WorkloadReport(
        monotonic=102.0,
        commits_per_second=50.0,
        errors_per_second=2.0,
        latency_95_ms=9.4,
        latency_99_ms=14.7,
        new_orders_per_second=45.0,
    )
    # Nothing ended for a while, of which it says nothing.
    later = parser.report_in(REPORT, 112.0)
    assert later is not None
    assert later.commits_per_second == 10.0


@pytest.mark.parametrize(
    "line",
    [
        "execute run failed, err Error 1213: Deadlock found when trying to get lock",
        '[{"Prefix":"[Current] ","Operation":"KEYINGTIME-NEW_ORDER","Avg(s)":"18.0s"}]',
        REPORT.replace("[Current]", "[Summary]"),
        '[{"tpmC":"5000.0","efficiency":"100.0%"}]',
        "[{",
        "",
    ],
)
def test_what_is_no_report_of_transactions_is_none(line: str) -> None:
    assert GoTpcReports(0.0).report_in(line, 1.0) is None
    assert TpccMysqlReports(1.0).report_in(line, 1.0) is None
