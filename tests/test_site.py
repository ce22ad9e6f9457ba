"""The site: it builds without a warning, every link of it leads somewhere, and it works in a browser without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from redolab.machine import processes
from redolab.predict.calibration import shipped_calibration
from redolab.predict.page import html_page
from redolab.predict.published import published_beside_ours
from redolab.project import PROJECT
from tests.predict.test_report_in_browser import BROWSER

pytestmark = pytest.mark.slow

_OVER = """() => {
  // Not the header: its search field takes a while to change its width. The calculator is a page of its own.
  const box = document.querySelector(".md-container") ?? document.documentElement;
  return box.scrollWidth - innerWidth;
}"""
"""Pixels by which what a page shows is wider than its window."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` does; of the calculator's page what takes long to compute is left out."""
    folder = tmp_path_factory.mktemp("site")
    calculator = folder / "report.html"
    calculator.write_text(html_page(shipped_calibration(), [], [], published_beside_ours([])))
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder / "site")],
        cwd=PROJECT.root,
        env=os.environ | {"REDOLAB_CALCULATOR": str(calculator), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return folder / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = processes.which(BROWSER)
    assert program is not None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def _opened(browser: Browser, site: Path, **options: Any) -> Iterator[Page]:
    """The site's first page, from the disk and without a network; nothing may be asked for elsewhere."""
    elsewhere: list[str] = []
    page = browser.new_page(offline=True, **options)
    page.on("request", lambda request: elsewhere.append(request.url) if request.url.startswith("http") else None)
    page.goto((site / "index.html").as_uri())
    yield page
    page.close()
    assert elsewhere == []


class _Links(HTMLParser):
    """Targets that a page names by `href` and `src`, and the places in it that a link can lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"href", "src"} and value:
                self.targets.append(value)
            elif name == "id" and value:
                self.places.add(value)


def _pages(site: Path) -> list[Path]:
    # A page that is not found is served at any address: its links begin at the root of the site.
    return [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]


def test_every_link_leads_somewhere_and_loads_nothing_from_elsewhere(site: Path) -> None:
    links = {page: _Links(page) for page in _pages(site)}
    assert len(links) > 50
    astray = []
    for page, found in links.items():
        for target in found.targets:
            at = urlsplit(target)
            if at.scheme:
                continue
            leads_to = (page.parent / unquote(at.path)).resolve() if at.path else page
            if not leads_to.is_file() or (at.fragment and unquote(at.fragment) not in links[leads_to].places):
                astray.append((page.relative_to(site).as_posix(), target))
    assert astray == []


@pytest.mark.parametrize("width", [390, 1200])
def test_search_finds_a_setting_by_a_part_of_its_name(browser: Browser, site: Path, width: int) -> None:
    with _opened(browser, site, viewport={"width": width, "height": 800}) as page:
        page.keyboard.press("/")
        page.locator("input.md-search__input").press_sequentially("read_io_threads")
        page.wait_for_selector(".md-search-result__item a")
        found = page.locator(".md-search-result__link").evaluate_all("links => links.map((each) => each.href)")
    assert any("results/stuck.html" in each for each in found)


def test_no_page_is_wider_than_its_window(browser: Browser, site: Path) -> None:
    wide = []
    with _opened(browser, site) as page:
        for path in _pages(site):
            page.set_viewport_size({"width": 390, "height": 800})
            page.goto(path.as_uri(), wait_until="domcontentloaded")
            for width in (390, 1200):
                page.set_viewport_size({"width": width, "height": 800})
                over = page.evaluate(_OVER)
                if over > 0:
                    wide.append((path.relative_to(site).as_posix(), width, over))
    assert wide == []
