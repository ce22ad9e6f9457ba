"""Templates of pages: Markdown with places for what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import jinja2
import mdformat

_COLUMNS = 120


def filled(template: Path, values: Mapping[str, object]) -> str:
    """The text of a template with these values in it, its lines wrapped.

    Raises `jinja2.UndefinedError` for a place without a value.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    text = environment.from_string(template.read_text()).render(values)
    return mdformat.text(text, options={"wrap": _COLUMNS, "number": True}, extensions={"tables"})
