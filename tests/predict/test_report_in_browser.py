"""The report in a browser: its calculator says what the command says, by keyboard too, without a network or a complaint."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from redolab.errors import InvalidInput
from redolab.machine import processes
from redolab.predict.advising import CrashTime, Sized, sized
from redolab.predict.asking import model_of
from redolab.predict.calibration import Calibration, shipped_calibration
from redolab.predict.demand import Demand
from redolab.predict.fitting import fit_runs
from redolab.predict.log_size import Limits
from redolab.predict.page import INTERPOLATED_WITHIN, LARGEST, POOLS, SMALLEST, html_page
from redolab.predict.predicting import predicted
from redolab.predict.prediction_errors import error_rows
from redolab.predict.published import published_beside_ours
from redolab.predict.question import Model, Question
from redolab.predict.reservations import reservations_at
from redolab.predict.size_in_words import in_words
from redolab.project import PROJECT
from redolab.results.committed import committed_recoveries
from redolab.servers.catalogue import server_catalogue
from redolab.units import GIB, MIB, format_size, parse_size

pytestmark = pytest.mark.slow

BROWSER = "chromium-headless-shell"
"""Fetched by `tests.test_set_up`."""
QUESTIONS = 50
POINTS = 200
_ADVISE = """(question) => {
  const told = (row) => (row ? row.logSize : null), found = advise(question);
  return [told(found.holds), told(found.within), told(found.answer),
    found.answer ? linesFor(question, found.answer) : "", found.rows.map((row) => [row.logSize, row.ready, row.low, row.high])];
}"""
_PREDICT = "(asked) => asked.map((each) => { const row = predict(each, each.logSize); return [row.ready, row.low, row.high]; })"
_NUMBER = re.compile(r"\d[\d.]*")

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
        question, log_size = _drawn(drawn, calibration)
        redo, rto = round(10 ** drawn.uniform(-1.5, 1.5), 3), round(10 ** drawn.uniform(1, 3.3))
        for name in ("server", "storage", "workload"):
            opened.select_option(f"#{name}", getattr(question, name))
        typed = {"pool": f"{question.pool // MIB}M", "log": f"{log_size // MIB}M"}
        for name, text in (typed | {"threads": question.read_threads, "redo": redo, "rto": rto}).items():
            opened.fill(f"#{name}", str(text))
        refused = known(opened, question).get("refused")
        if refused is not None:
            with pytest.raises(InvalidInput, match=re.escape(refused.partition(": ")[0])):
                model_of(question, calibration, question.storage)
            assert opened.inner_text("#answer") == f"{refused}."
            continue
        _compare(opened, model_of(question, calibration, question.storage), log_size, redo, rto)


def test_between_the_points_of_its_grid_it_differs_by_no_more_than_the_page_says(
    opened: Page, calibration: Calibration
) -> None:
    drawn = random.Random(POINTS)
    questions = [_drawn(drawn, calibration) for _ in range(POINTS)]
    shown = opened.evaluate(_PREDICT, [_asked(question, log_size) for question, log_size in questions])
    for (question, log_size), row in zip(questions, shown, strict=True):
        found = predicted(model_of(question, calibration, question.storage), log_size, None)
        expected = [found.ready_s, found.ninety.low_s, found.ninety.high_s]
        assert row == pytest.approx(expected, rel=INTERPOLATED_WITHIN), (question, log_size)
    assert f"by at most {100 * INTERPOLATED_WITHIN:.0f} %" in " ".join(opened.inner_text("main").split())


def _drawn(drawn: random.Random, calibration: Calibration) -> tuple[Question, int]:
    """Return a question and a log size in whole MiB, mostly between the points of the calculator's grid."""
    server = drawn.choice(list(calibration.servers))
    largest = min(LARGEST, server_catalogue().get(server).dialect().largest_log)
    pool, log_size = (
        round(least * (most / least) ** drawn.random() / MIB) * MIB
        for least, most in (POOLS, (SMALLEST, largest - MIB))
    )
    question = Question(
        server=server,
        storage=drawn.choice(list(calibration.storages)),
        pool=pool,
        workload=drawn.choice(list(calibration.servers[server].workloads)),
        read_threads=drawn.choice([4, 8, 15, 16, 64]),
    )
    return question, log_size


def _asked(question: Question, log_size: int, redo: float = 1.0, rto: float = 60.0) -> Mapping[str, object]:
    """Return a question as the calculator has it."""
    return {
        **{"server": question.server, "workload": question.workload, "storage": question.storage},
        **{"pool": question.pool, "logSize": log_size, "readThreads": question.read_threads},
        **{"redoPerHour": redo * GIB, "rto": rto},
    }


def known(opened: Page, question: Question) -> dict[str, str]:
    """Return what the calculator knows of a storage."""
    path = f'DATA.servers["{question.server}"].workloads["{question.workload}"].storages["{question.storage}"]'
    of_storage: dict[str, str] = opened.evaluate(path)
    return of_storage


def _compare(opened: Page, model: Model, log_size: int, redo: float, rto: float) -> None:
    question, found = model.question, _answer(model, redo, rto)
    holds, within, answer, lines, rows = opened.evaluate(_ADVISE, _asked(question, log_size, redo, rto))
    assert holds == found.advice.smallest_for_hour, question
    # Right at the limit a difference in seconds is one of a size.
    strict, lax = (_answer(model, redo, rto * share) for share in (1 - INTERPOLATED_WITHIN, 1 + INTERPOLATED_WITHIN))
    assert (strict.advice.largest_within_rto or 0) <= (within or 0) <= (lax.advice.largest_within_rto or 0), question
    assert answer == (holds if holds and within and holds <= within else within), question
    assert [row[0] for row in rows] == sorted({log_size, *(row.log_size for row in found.table)})
    largest = min(LARGEST, server_catalogue().get(question.server).dialect().largest_log)
    for size, *row in rows:
        # The time steps up at the size from which one more apply batch is needed: right beside it either is right.
        sizes = (size, round(size * 0.99), min(round(size * 1.01), largest))
        found_at = (predicted(model, each, None) for each in sizes)
        right = [[each.ready_s, each.ninety.low_s, each.ninety.high_s] for each in found_at]
        assert any(row == pytest.approx(each, rel=INTERPOLATED_WITHIN) for each in right), (question, size, row, right)
    assert opened.inner_text("#yours").startswith(f"Your redo log of {format_size(log_size)}: ")
    said = opened.inner_text("#rests")
    for each in (*model.warnings, *reservations_at(model, log_size)):
        assert " ".join(each.split()) in said, question
    if answer is None:
        assert opened.inner_text("#answer").startswith("No size recovers in time")
    elif answer == found.size:
        same = "\n\n".join("\n".join([f"# {at.where}: {at.why}", *at.lines]) for at in found.lines)
        assert _NUMBER.sub("#", lines) == _NUMBER.sub("#", same), question
        assert is_answer(opened.inner_text("#answer"), found)
        for each in reservations_at(model, answer):
            assert " ".join(each.split()) in said, question


def _answer(model: Model, redo: float, rto: float) -> Sized:
    """As the calculator has it: by the worst crash, as it knows no samples."""
    return sized(model, Demand(redo_per_hour=redo * GIB, source=""), Limits(rto=rto), crash_time=CrashTime.WORST)


def is_answer(shown: str, found: Sized) -> bool:
    """Return True if the calculator's sentence begins as the command's, but for the last digits of seconds."""
    assert found.size is not None
    said = _NUMBER.sub("#", in_words(found)[0])
    return shown.startswith(f"Set the redo log to {format_size(found.size)}.") and _NUMBER.sub("#", shown).startswith(
        said
    )


def test_by_keyboard_the_answer_follows_what_is_asked(opened: Page, calibration: Calibration) -> None:
    before = opened.inner_text("#answer")
    # The tab key alone reaches every field, in the order in which they stand, and then the lines to paste.
    opened.keyboard.press("Tab")
    reached: list[str] = []
    while (name := opened.evaluate("document.activeElement.id")) != "lines" and len(reached) < 20:
        reached.append(name)
        opened.keyboard.press("Tab")
    expected = ["server", "storage", "workload", "pool", "log", "threads", "redo", "rto"]
    assert [name for name in reached if name] == expected
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
    chosen: dict[str, Any] = {
        name: opened.input_value(f"#{name}") for name in ("server", "workload", "storage", "pool")
    }
    assert chosen["server"] == "mariadb-10.11"
    question = Question(**{**chosen, "pool": parse_size(chosen["pool"])})
    found = _answer(model_of(question, calibration, question.storage), 0.5, 300)
    assert is_answer(answer, found)
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
    opened.fill("#pool", "64M")
    assert "128M to 256G" in opened.inner_text("#answer")
    opened.fill("#pool", "6 GB")
    opened.fill("#log", "much")
    assert "512M, 1.5G or 8G" in opened.inner_text("#answer")
    opened.fill("#log", "1T")
    assert "of 64M to 512G" in opened.inner_text("#answer")
    opened.fill("#log", "1.5 gib")
    assert "Your redo log of 1536M" in opened.inner_text("#yours")
    opened.fill("#log", "")
    assert opened.inner_text("#yours") == ""
