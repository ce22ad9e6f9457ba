"""The calibration that comes with redolab is what the committed recoveries give, and the report's calculator agrees with it."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import msgspec
import pytest

from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.project import PROJECT
from redolab.sizing.advising import sized
from redolab.sizing.calibration import Calibration, shipped_calibration
from redolab.sizing.demand import Demand
from redolab.sizing.fitting import FittedRuns, committed_runs, error_rows, errors_table, fit_runs
from redolab.sizing.page import calculator_data, html_page
from redolab.sizing.question import Question, model_of
from redolab.units import GIB

_ASK = """
const told = (row) => (row ? row.logSize : null);
console.log(JSON.stringify(QUESTIONS.map((question) => {
  const found = advise(question);
  return [told(found.holds), told(found.within), told(found.withinMedian), told(found.answer),
    found.rows.map((row) => [row.logSize, row.ready, row.low, row.high])];
})));
"""


@pytest.fixture(scope="module")
def fitted() -> FittedRuns:
    return fit_runs(committed_runs())


def test_it_is_what_the_committed_runs_give(fitted: FittedRuns) -> None:
    shipped, again = shipped_calibration(), fitted.calibration
    assert set(shipped.servers) == set(again.servers)
    assert shipped.runs == again.runs
    for name, server in shipped.servers.items():
        for workload, learnt in server.workloads.items():
            rates = again.servers[name].workloads[workload].rates
            assert learnt.rates == pytest.approx(rates, rel=1e-3, abs=1e-6), (
                f"'redolab fit -o provision/calibration.json' ({name})"
            )
    for kind, spread in shipped.spreads.items():
        assert again.spreads[kind].deviation == pytest.approx(spread.deviation, rel=1e-3)


def test_its_errors_are_those_of_the_page(fitted: FittedRuns) -> None:
    page = (PROJECT.results / "model.md").read_text()
    told = [line for line in errors_table(error_rows(fitted.judged)).as_markdown().splitlines() if "| all " in line]
    assert told
    shown = {" ".join(line.split()) for line in page.splitlines()}
    assert all(" ".join(line.split()) in shown for line in told)


def test_the_calculator_of_the_report_says_what_the_command_says(lab: Lab, tmp_path: Path) -> None:
    # npm is a tool of the lab, and brings the JavaScript that runs without a browser.
    lab.tools.get("npm")
    node = shutil.which("node")
    assert node is not None
    calibration = shipped_calibration()
    asked = [
        (server, workload, storage, pool, redo, rto)
        for server in ("mariadb-10.11", "mysql-9", "mysql-5.5")
        for workload, learnt in calibration.servers[server].workloads.items()
        for storage, pool, redo, rto in itertools.product(learnt.storages, (0.5, 8.0), (0.3, 2.7, 20.0), (30.0, 600.0))
    ]
    questions = [
        {
            "server": server,
            "workload": workload,
            "storage": storage,
            "pool": pool * GIB,
            "redoPerHour": redo * GIB,
            "rto": rto,
        }
        for server, workload, storage, pool, redo, rto in asked
    ]
    data = msgspec.json.encode(calculator_data(calibration)).decode()
    script = tmp_path / "ask.js"
    calculator = (PROJECT.root / "redolab/sizing/web/calculator.js").read_text()
    script.write_text(f"const DATA = {data};\n{calculator}\nconst QUESTIONS = {json.dumps(questions)};\n{_ASK}")
    answers = json.loads(processes.run(Command([node, str(script)])).out)
    assert len(answers) == len(asked)
    for each, answer in zip(asked, answers, strict=True):
        assert _same(answer, _by_command(calibration, *each)), each


def _by_command(
    calibration: Calibration, server: str, workload: str, storage: str, pool: float, redo: float, rto: float
) -> list[object]:
    model = model_of(
        Question(server=server, storage=storage, pool=int(pool * GIB), workload=workload), calibration, storage
    )
    found = sized(model, Demand(redo_per_hour=redo * GIB, source="as given"), rto)
    rows = [[row.log_size, row.ready_s, row.ninety.low_s, row.ninety.high_s] for row in found.table]
    return [found.holds_an_hour, found.within_rto, found.within_rto_median, found.size, rows]


def _same(one: list[object], other: list[object]) -> bool:
    *sizes, rows = one
    *others, other_rows = other
    assert isinstance(rows, list)
    assert isinstance(other_rows, list)
    return (
        sizes == others
        and len(rows) == len(other_rows)
        and all(row == pytest.approx(same, rel=1e-9) for row, same in zip(rows, other_rows, strict=True))
    )


def test_the_report_is_one_page_that_needs_no_network(fitted: FittedRuns) -> None:
    text = html_page(shipped_calibration(), error_rows(fitted.judged), sorted(PROJECT.results.glob("*.md")))
    assert 'src="http' not in text
    assert 'href="http' not in text
    assert text.count("data:image/svg+xml;base64,") == len(list(PROJECT.results.glob("*.md")))
    assert "Percona Server 5.5.7" in text
