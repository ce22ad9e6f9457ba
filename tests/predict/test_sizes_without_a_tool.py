"""docs/sizes.md: its tables are what `redolab size` answers."""

from __future__ import annotations

from redolab.project import PROJECT
from tests.predict.sizes_without_a_tool import tables


def test_the_documentation_has_the_sizes_that_recover_in_time() -> None:
    shown = (PROJECT.root / "docs/sizes.md").read_text()
    assert all(table in shown for table in tables())
