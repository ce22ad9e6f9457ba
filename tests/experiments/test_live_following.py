"""What `redolab follow` said beside recoveries while they ran, against when they were ready."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pytest

from experiments.recovery.pages.live import live_table, read_live
from redolab.project import PROJECT

_SAID = """recovery,server,ready_s,at_s,left_s,left_low_s,left_high_s
a,mysql-9,100,20,90,60,120
a,mysql-9,100,26,64,50,70
a,mysql-9,100,50,50,45,60
a,mysql-9,100,80,10,5,15
b,mariadb-11.8,40,10,30,20,35
b,mariadb-11.8,40,21,29,10,30
"""


def test_what_was_said_first_at_a_mark_counts(tmp_path: Path) -> None:
    file = tmp_path / "live.csv"
    file.write_text(_SAID)
    first, second = read_live(file)
    said = first.at(0.25)
    assert said is not None
    assert said.at == 26
    assert first.off(said) == pytest.approx(-0.1)
    assert second.at(0.75) is None
    quarter, half, later = live_table([first, second]).cells
    # 74 s were left of the first, more than the 70 it said at most; the second was right.
    assert quarter == ["25%", "2", "5%", "10%", "1 of 2"]
    assert half == ["50%", "2", "12%", "25%", "2 of 2"]
    assert later == ["75%", "1", "10%", "10%", "0 of 1"]


def test_the_live_error_stands_beside_the_replayed_one_where_readers_begin() -> None:
    """In the first lines of both pages, and wherever README shows how long still."""
    live = read_live(PROJECT.measured / "following/live.csv")
    error = f"{100 * median(abs(each.off(said)) for each in live if (said := each.at(0.5))):.0f}"
    page = (PROJECT.results / "following.md").read_text()
    replayed = re.search(r"Replayed .*? were\s+off\s+by\s+(\d+) %", page, re.DOTALL)
    assert replayed is not None
    first = [" ".join(text.split())[:900] for text in (page, (PROJECT.root / "docs/watching.md").read_text())]
    readme = " ".join((PROJECT.root / "README.md").read_text().split())
    for text in (*first, readme[readme.index("redolab follow --pid 27463") :]):
        assert re.search(rf"off by {error} ?% of the whole time", text)
        assert f"{replayed[1]} %" in text
