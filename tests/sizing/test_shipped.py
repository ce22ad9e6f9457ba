"""The calibration that comes with redolab is what the committed recoveries give, and the report's calculator agrees with it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from redolab.project import PROJECT
from redolab.results.committed import committed_recoveries, recoveries_elsewhere
from redolab.sizing.calibration import shipped_calibration
from redolab.sizing.fitting import FittedRuns, error_rows, errors_table, fit_runs
from redolab.sizing.page import html_page
from redolab.sizing.published import published_beside_ours

_UNDETERMINED = {"tpcc": ("batches", "later stored redo")}
"""What a further batch costs: too few recoveries of that load took one, and the last digits of a processor decide."""


@pytest.fixture(scope="module")
def fitted() -> FittedRuns:
    return fit_runs(committed_recoveries(), elsewhere=recoveries_elsewhere())


def test_it_is_what_the_committed_runs_give(fitted: FittedRuns) -> None:
    shipped, again = shipped_calibration(), fitted.calibration
    assert set(shipped.servers) == set(again.servers)
    assert shipped.runs == again.runs
    assert shipped.other_machines == again.other_machines
    for name, server in shipped.servers.items():
        of_tables = dict(again.servers[name].seconds_per_table_on)
        assert dict(server.seconds_per_table_on) == pytest.approx(of_tables, rel=1e-3)
        for workload, learnt in server.workloads.items():
            rates = again.servers[name].workloads[workload].rates
            assert _determined(learnt.rates, workload) == pytest.approx(
                _determined(rates, workload), rel=1e-3, abs=1e-6
            ), f"'redolab fit -o provision/calibration.json' ({name})"
    for kind, spread in shipped.spreads.items():
        assert again.spreads[kind].deviation == pytest.approx(spread.deviation, rel=1e-3)


def test_what_a_table_adds_on_a_slow_disk_is_another_matter() -> None:
    of_tables = shipped_calibration().servers["mysql-9"].seconds_per_table_on
    assert of_tables["hdd"] > 10 * of_tables["native"] > 0


def _determined(rates: Mapping[str, float], workload: str) -> dict[str, float]:
    return {term: rate for term, rate in rates.items() if term not in _UNDETERMINED.get(workload, ())}


def test_its_errors_are_those_of_the_page(fitted: FittedRuns) -> None:
    page = (PROJECT.results / "model.md").read_text()
    told = [line for line in errors_table(error_rows(fitted.judged)).as_markdown().splitlines() if "| all " in line]
    assert told
    shown = {" ".join(line.split()) for line in page.splitlines()}
    assert all(" ".join(line.split()) in shown for line in told)


def test_the_report_is_one_page_that_needs_no_network(fitted: FittedRuns) -> None:
    text = html_page(
        shipped_calibration(),
        error_rows(fitted.judged),
        sorted(PROJECT.results.glob("*.md")),
        published_beside_ours(committed_recoveries()),
    )
    assert 'src="http' not in text
    assert 'href="http' not in text
    assert text.count("data:image/svg+xml;base64,") == len(list(PROJECT.results.glob("*.md")))
    assert "Percona Server 5.5.7" in text
    assert "<td>ours</td>" in text
