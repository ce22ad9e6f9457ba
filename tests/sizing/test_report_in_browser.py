"""The report in a browser: its calculator says what the command says, by keyboard too, without a network or a complaint."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from redolab.machine import processes
from redolab.models.sizing import Limits
from redolab.project import PROJECT
from redolab.results.committed import committed_recoveries
from redolab.sizing.advising import Moment, Sized, sized
from redolab.sizing.asking import model_of
from redolab.sizing.calibration import Calibration, shipped_calibration
from redolab.sizing.demand import Demand
from redolab.sizing.errors import error_rows
from redolab.sizing.fitting import fit_runs
from redolab.sizing.page import html_page
from redolab.sizing.published import published_beside_ours
from redolab.sizing.question import Model, Question
from redolab.sizing.size_in_words import in_words
from redolab.units import GIB

BROWSER = "chromium-headless-shell"
"""Fetched by `tests.test_set_up`."""
_ADVISE = """(questions) => questions.map((question) => {
  const told = (row) => (row ? row.logSize : null), found = advise(question);
  return [told(found.holds), told(found.within), told(found.withinMedian), told(found.answer),
    found.answer ? linesFor(question, found.answer) : "", found.rows.map((row) => [row.logSize, row.ready, row.low, row.high])];
})"""


_BOXES = """() => [...document.querySelectorAll("pre, table")].map((each) => {
  const box = each.tagName === "TABLE" ? each.parentElement : each, at = box.getBoundingClientRect();
  return { tag: each.tagName, left: at.left, right: at.right, content: box.scrollWidth, room: box.clientWidth,
    scrolls: getComputedStyle(box).overflowX === "auto" };
})"""
"""Every block of lines and the box of every table: where it stands, and how wide what is in it is."""


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return shipped_calibration()


@pytest.fixture(scope="module")
def report(calibration: Calibration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    runs = committed_recoveries()
    # Those of all runs take half a minute; the page has a table of whichever it is given.
    errors = error_rows(fit_runs([run for run in runs if run.record().experiment == "calibrate"]).judged)
    path.write_text(html_page(calibration, errors, sorted(PROJECT.results.glob("*.md")), published_beside_ours(runs)))
    return path


@pytest.fixture
def opened(report: Path) -> Iterator[Page]:
    """The report in a browser that has no network; at the end nothing may have been complained of or asked for."""
    program = processes.which(BROWSER)
    assert program is not None
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(offline=True)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
        page.goto(report.as_uri())
        yield page
        browser.close()
    assert complaints == []


def test_the_calculator_says_what_the_command_says(opened: Page, calibration: Calibration) -> None:
    asked = [
        (server, workload, storage, pool, redo, rto, threads)
        for server in ("mariadb-10.11", "mysql-9", "mysql-5.5")
        for workload, learnt in calibration.servers[server].workloads.items()
        for threads in ((4, 16) if server == "mysql-9" else (4,))
        for storage, pool, redo, rto in itertools.product(learnt.storages, (0.5, 8.0), (0.3, 20.0), (30.0, 600.0))
    ]
    names = ("server", "workload", "storage", "pool", "redoPerHour", "rto", "readThreads")
    questions = [dict(zip(names, (*each[:3], each[3] * GIB, each[4] * GIB, *each[5:]), strict=True)) for each in asked]
    for each, answer in zip(asked, opened.evaluate(_ADVISE, questions), strict=True):
        *sizes, lines, rows = answer
        server, workload, storage, pool, redo, rto, threads = each
        found = _answer(_model(calibration, server, workload, storage, pool).with_read_threads(threads), redo, rto)
        assert sizes == [found.holds_an_hour, found.within_rto, found.within_rto_median, found.size], each
        assert lines == "\n\n".join("\n".join([f"# {at.where}: {at.why}", *at.lines]) for at in found.lines), each
        expected = [(row.log_size, row.recovery_s, row.ninety.low_s, row.ninety.high_s) for row in found.table]
        assert len(rows) == len(expected)
        for row, same in zip(rows, expected, strict=True):
            assert row == pytest.approx(same, rel=1e-9), each


def _answer(model: Model, redo: float, rto: float) -> Sized:
    """As the calculator has it: by the worst crash, as it knows no samples."""
    return sized(model, Demand(redo_per_hour=redo * GIB, source=""), Limits(rto=rto), moment=Moment.WORST)


def test_by_keyboard_the_answer_follows_what_is_asked(opened: Page, calibration: Calibration) -> None:
    learnt = next(iter(calibration.servers.values()))
    assert learnt
    before = opened.inner_text("#answer")
    # The tab key alone reaches every field, in the order in which they stand, and then the lines to paste.
    opened.keyboard.press("Tab")
    reached: list[str] = []
    while (name := opened.evaluate("document.activeElement.id")) != "lines" and len(reached) < 20:
        reached.append(name)
        opened.keyboard.press("Tab")
    assert [name for name in reached if name] == ["server", "storage", "workload", "pool", "threads", "redo", "rto"]
    opened.focus("#server")
    opened.keyboard.type("MariaDB 10.11")
    opened.focus("#redo")
    opened.keyboard.press("Control+A")
    opened.keyboard.type("0.5")
    opened.focus("#rto")
    opened.keyboard.press("Control+A")
    opened.keyboard.type("300")
    answer = opened.inner_text("#answer")
    assert answer != before
    chosen = {name: opened.input_value(f"#{name}") for name in ("server", "workload", "storage", "pool")}
    assert chosen["server"] == "mariadb-10.11"
    model = _model(calibration, chosen["server"], chosen["workload"], chosen["storage"], float(chosen["pool"]))
    found = _answer(model, 0.5, 300)
    assert answer.startswith(in_words(found)[0])
    shown = opened.inner_text("#lines")
    assert found.size is not None
    assert str(found.size) in shown or str(found.size // 2) in shown
    assert opened.locator("#chart svg .band").count() == 1


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_runs_over_the_edge_and_what_is_wide_scrolls_in_its_own_box(opened: Page, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    # The answer with the longest lines to paste, and the tables server by server, which are closed at first.
    opened.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = opened.evaluate(_BOXES)
    assert {box["tag"] for box in boxes} == {"PRE", "TABLE"}
    for box in boxes:
        assert box["left"] >= 0, box
        assert box["right"] <= width, box
        assert box["content"] <= box["room"] or box["scrolls"], box
    if width < 600:
        assert any(box["content"] > box["room"] for box in boxes)


def test_what_cannot_be_asked_is_said_and_the_page_goes_on(opened: Page) -> None:
    opened.fill("#pool", "0")
    assert "greater than 0" in opened.inner_text("#answer")
    # Nothing is left to be copied of what was asked before.
    assert opened.inner_text("#lines") == ""
    opened.fill("#pool", "0.01")
    assert "less than 32M is too small" in opened.inner_text("#answer")
    opened.fill("#pool", "8")
    assert "greater than 0" not in opened.inner_text("#answer")


def _model(calibration: Calibration, server: str, workload: str, storage: str, pool: float) -> Model:
    question = Question(server=server, storage=storage, pool=int(pool * GIB), workload=workload)
    return model_of(question, calibration, storage)
