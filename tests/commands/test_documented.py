"""Every command and file that the documentation names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator

import markdown_it

from redolab.commands.main import commands
from redolab.project import PROJECT

_VERB = re.compile(r"^(?:\$ )?(?:sudo )?(?:\S*bin/)?redolab ([a-z][a-z-]*)", re.MULTILINE)
_FILE = re.compile(
    r"(?:benchmarks|diskmodel|docs|experiments|notebooks|provision|redolab|slowlogplugin|tests|vagrant)/[\w./-]+"
)
_NOT_OURS = re.compile(r"NAME|\.local\.")
"""Part of the path of a file that a user makes."""
_PAGES = [PROJECT.root / "README.md", PROJECT.root / "CONTRIBUTING.md", *(PROJECT.root / "docs").rglob("*.md")]


def test_the_documentation_names_commands_that_exist() -> None:
    named = {verb: page.name for page in _PAGES for code in code_in(page.read_text()) for verb in _VERB.findall(code)}
    assert {"follow", "size"} <= named.keys()
    assert {verb: page for verb, page in named.items() if verb not in commands.commands} == {}


def test_the_documentation_names_files_that_exist() -> None:
    spans = {code: page.name for page in _PAGES for code in code_in(page.read_text())}
    named = {path: page for path, page in spans.items() if _FILE.fullmatch(path) and not _NOT_OURS.search(path)}
    assert named
    assert {path: page for path, page in named.items() if not (PROJECT.root / path).exists()} == {}


def code_in(markdown: str) -> Iterator[str]:
    """Yield the blocks and spans of code."""
    for block in markdown_it.MarkdownIt("commonmark").enable("table").parse(markdown):
        for token in (block, *(block.children or ())):
            if token.type in {"fence", "code_block", "code_inline"}:
                yield token.content
