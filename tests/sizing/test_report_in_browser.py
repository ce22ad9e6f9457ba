"""The report in a browser: its calculator says what the command says, by keyboard too, without a network or a complaint."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from redolab.errors import InvalidInput
from redolab.machine import processes
from redolab.models.sizing import Limits, possible_sizes
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
from redolab.sizing.reservations import reservations_at
from redolab.sizing.size_in_words import in_words
from redolab.units import GIB, MIB

BROWSER = "chromium-headless-shell"
"""Fetched by `tests.test_set_up`."""
QUESTIONS = 50
_KNOWN = [*possible_sizes(0, 8 * GIB), *(gib * GIB for gib in (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512))]
"""The log sizes that the calculator knows."""
_ADVISE = """(question) => {
  const told = (row) => (row ? row.logSize : null), found = advise(question);
  return [told(found.holds), told(found.within), told(found.withinMedian), told(found.answer),
    found.answer ? linesFor(question, found.answer) : "", found.rows.map((row) => [row.logSize, row.ready, row.low, row.high])];
}"""


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


@pytest.mark.parametrize("width", [390, 1200])
def test_the_calculator_says_what_the_command_says(opened: Page, calibration: Calibration, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    drawn = random.Random(width)
    for _ in range(QUESTIONS):
        server = drawn.choice(list(calibration.servers))
        workload = drawn.choice(list(calibration.servers[server].workloads))
        storage, threads = drawn.choice(list(calibration.storages)), drawn.choice([4, 8, 15, 16, 64])
        pool = 128 * MIB * 2 ** drawn.randrange(12)
        redo, rto = round(10 ** drawn.uniform(-1.5, 1.5), 3), round(10 ** drawn.uniform(1, 3.3))
        for name, value in (("server", server), ("storage", storage), ("workload", workload), ("pool", str(pool))):
            opened.select_option(f"#{name}", value)
        for name, number in (("threads", threads), ("redo", redo), ("rto", rto)):
            opened.fill(f"#{name}", str(number))
        question = Question(server=server, storage=storage, pool=pool, workload=workload, read_threads=threads)
        refused = known(opened, question).get("refused")
        if refused is not None:
            with pytest.raises(InvalidInput, match=re.escape(refused.partition(": ")[0])):
                model_of(question, calibration, storage)
            assert opened.inner_text("#answer") == f"{refused}."
            continue
        model = model_of(question, calibration, storage)
        _compare(opened, model, redo, rto)


def known(opened: Page, question: Question) -> dict[str, str]:
    """Return what the calculator knows of a storage."""
    path = f'DATA.servers["{question.server}"].workloads["{question.workload}"].storages["{question.storage}"]'
    of_storage: dict[str, str] = opened.evaluate(path)
    return of_storage


def _compare(opened: Page, model: Model, redo: float, rto: float) -> None:
    question, found = model.question, _answer(model, redo, rto)
    *sizes, lines, rows = opened.evaluate(
        _ADVISE,
        {
            **{"server": question.server, "workload": question.workload, "storage": question.storage},
            **{"pool": question.pool, "readThreads": question.read_threads, "redoPerHour": redo * GIB, "rto": rto},
        },
    )
    holds, within, half = _next(found.holds_an_hour), _before(found.within_rto), _before(found.within_rto_median)
    answer = holds if holds and within and holds <= within else within
    assert sizes == [holds, within, half, answer], question
    expected = [(row.log_size, row.recovery_s, row.ninety.low_s, row.ninety.high_s) for row in found.table]
    assert [row[0] for row in rows] == [row[0] for row in expected]
    for row, same in zip(rows, expected, strict=True):
        assert row[1:] == pytest.approx(same[1:], rel=1e-6), question
    if answer is None:
        assert opened.inner_text("#answer").startswith("No size recovers in time")
    elif answer == found.size:
        assert lines == "\n\n".join("\n".join([f"# {at.where}: {at.why}", *at.lines]) for at in found.lines)
        assert opened.inner_text("#answer").startswith(in_words(found)[0])
        said = opened.inner_text("#rests")
        for each in (*model.warnings, *reservations_at(model, answer)):
            assert " ".join(each.split()) in said, question


def _answer(model: Model, redo: float, rto: float) -> Sized:
    """As the calculator has it: by the worst crash, as it knows no samples."""
    return sized(model, Demand(redo_per_hour=redo * GIB, source=""), Limits(rto=rto), moment=Moment.WORST)


def _next(size: int | None) -> int | None:
    """Return the smallest log that the calculator knows and that is no smaller."""
    return next((known for known in _KNOWN if size is not None and known >= size), None)


def _before(size: int | None) -> int | None:
    """Return the largest log that the calculator knows and that is no larger."""
    return max((known for known in _KNOWN if size is not None and known <= size), default=None)


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
    names = (chosen["server"], chosen["workload"], chosen["storage"])
    model = _model(calibration, *names, int(chosen["pool"]))
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
    opened.fill("#redo", "0")
    assert "greater than 0" in opened.inner_text("#answer")
    # Nothing is left to be copied of what was asked before.
    assert opened.inner_text("#lines") == ""
    opened.fill("#redo", "2.7")
    opened.fill("#threads", "65")
    assert "1 to 64" in opened.inner_text("#answer")
    opened.fill("#threads", "4")
    assert "greater than 0" not in opened.inner_text("#answer")


def _model(calibration: Calibration, server: str, workload: str, storage: str, pool: int) -> Model:
    question = Question(server=server, storage=storage, pool=pool, workload=workload)
    return model_of(question, calibration, storage)
