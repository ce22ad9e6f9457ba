"""Every command that the documentation names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator

import markdown_it

from redolab.commands.main import commands
from redolab.project import PROJECT

_VERB = re.compile(r"^(?:\$ )?(?:sudo )?(?:\S*bin/)?redolab ([a-z][a-z-]*)", re.MULTILINE)


def test_the_documentation_names_commands_that_exist() -> None:
    pages = [PROJECT.root / "README.md", PROJECT.root / "CONTRIBUTING.md", *(PROJECT.root / "docs").rglob("*.md")]
    named = {verb: page.name for page in pages for code in code_in(page.read_text()) for verb in _VERB.findall(code)}
    assert {"follow", "size"} <= named.keys()
    assert {verb: page for verb, page in named.items() if verb not in commands.commands} == {}


def code_in(markdown: str) -> Iterator[str]:
    """Yield the blocks and spans of code."""
    for block in markdown_it.MarkdownIt("commonmark").enable("table").parse(markdown):
        for token in (block, *(block.children or ())):
            if token.type in {"fence", "code_block", "code_inline"}:
                yield token.content
