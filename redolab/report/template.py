"""Templates of pages: Markdown with places for what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import jinja2
import mdformat

_COLUMNS = 120
_FENCE = "```"
_NO_NOTE = tuple("#|!*-`")
"""How a block begins that is not running text."""
_SHORTEST_NOTE = 80
"""Characters: what is shorter, as `12 recoveries, 2026-11-22.`, is of the table beside it."""


def filled(template: Path, values: Mapping[str, object]) -> str:
    """The text of a template with these values in it, its lines wrapped; a note that several tables have is said once.

    Raises `jinja2.UndefinedError` for a place without a value.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    text = environment.from_string(template.read_text()).render(values)
    return said_once(mdformat.text(text, options={"wrap": _COLUMNS, "number": True}, extensions={"tables"}))


def said_once(text: str) -> str:
    """Markdown without the long paragraphs that stand in it before; headings, tables, pictures, lists and code stay."""
    kept, said, is_code = list[str](), set[str](), False
    written = text.rstrip("\n")
    for block in written.split("\n\n"):
        is_note = not is_code and len(block) > _SHORTEST_NOTE and block[0] not in _NO_NOTE
        is_code ^= block.count(_FENCE) % 2 == 1
        if is_note and block in said:
            continue
        said.add(block)
        kept.append(block)
    return "\n\n".join(kept) + text[len(written) :]
