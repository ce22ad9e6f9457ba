"""Pages from templates."""

from __future__ import annotations

from pathlib import Path

from redolab.report.template import filled, said_once

_NOTE = "Seconds to ready: median of the recoveries; scan and apply are of the one that is nearest to that median."
_TABLE = "| server | ready, s |\n| ------ | -------- |\n| MySQL  | 3.40     |"


def test_what_several_tables_say_below_them_is_said_once() -> None:
    page = ["# Page", _TABLE, _NOTE, "2 recoveries.", "## Again", _TABLE, _NOTE, "2 recoveries.", "- " + _NOTE]
    assert said_once("\n\n".join(page)).split("\n\n") == [*page[:6], *page[7:]]


def test_code_stays_as_it_is() -> None:
    code = "```\n" + "\n\n".join([_NOTE, _NOTE]) + "\n```"
    text = "\n\n".join([_NOTE, code, _NOTE, code])
    assert said_once(text) == "\n\n".join([_NOTE, code, code])


def test_a_template_is_wrapped_and_says_each_note_once(tmp_path: Path) -> None:
    template = tmp_path / "page.md"
    template.write_text("# {{ name }}\n\n{{ note }}\n\n## Second\n\n{{ note }}\n")
    assert filled(template, {"name": "One", "note": _NOTE}) == f"# One\n\n{_NOTE}\n\n## Second\n"
