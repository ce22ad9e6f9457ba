"""Answers of `predict` and `size` in the words of `words.txt`.

.venv/bin/python -m tests.predict.test_words

writes the words anew: read the difference before committing it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from redolab.predict.advising import CrashTime, Sized, Sizing, sized
from redolab.predict.calibration import Calibration
from redolab.predict.compare import compared, compared_table
from redolab.predict.log_size import Limits
from redolab.predict.predicting import show_predicted
from redolab.predict.question import Until
from redolab.predict.rules import ServerFacts
from redolab.predict.size_in_words import in_words, show_sized
from redolab.predict.why import show_why
from redolab.units import GIB, MIB
from tests.predict.examples import calibration, given, model, recovery, size_for, with_server
from tests.predict.test_trade import TRADE, TRADES, of_trade, with_gains
from tests.predict.test_usual import SAMPLED

WORDS = Path(__file__).with_name("words.txt")


def _old() -> Calibration:
    """Return the calibration as of a day that stays old: its answers are the same on every day."""
    return msgspec.structs.replace(calibration(), made=datetime(2020, 1, 1, tzinfo=UTC))


def _predict(console: Console) -> None:
    asked = model("percona-8.0.36", pool=512 * MIB, known=_old(), undo_rows=6_000_000, dirty_pages=50_000)
    found = recovery(asked, 8 * GIB)
    show_predicted(console, found)
    show_why(console, found.why)


def _size(console: Console) -> None:
    show_sized(console, sized(model(pool=8 * GIB, known=_old()), given(2 * GIB), Limits(rto=600), TRADES))


def _compare(console: Console) -> None:
    limits = Limits(rto=300)
    sizing = Sizing(model("mysql-9", pool=8 * GIB), given(3 * GIB), limits, TRADES, CrashTime.WORST)
    compared_table(compared(sizing, ServerFacts(pool=8 * GIB, cpus=16), GIB), limits, "mysql-9", CrashTime.WORST).show(
        console
    )


def _unmeasured() -> Sequence[str]:
    known = with_server("mysql-9", seconds_per_table_on={"local": 0.0002}, rollback_on={})
    asked = model("mysql-9.2.0", "gp3-3000", pool=512 * MIB, known=known, tables=20_000, undo_rows=6_000_000)
    return recovery(asked).warnings


def _sentences(found: Sized) -> Sequence[str]:
    return [*in_words(found), *(f"! {warning}." for warning in found.warnings)]


def _too_late() -> Sequence[str]:
    asked = model("mysql-9", undo_rows=3_000_000, until=Until.ROLLED_BACK)
    return _sentences(sized(asked, given(7.15 * GIB), Limits(rto=15), TRADES))


def _by_samples() -> Sequence[str]:
    demand = replace(SAMPLED, month_per_hour=0.5 * GIB, days=5)
    return _sentences(sized(model(), demand, Limits(rto=300)))


_WITHOUT_INTERVALS = with_gains(throughput=None, lost=None)
_OTHER_SECONDS = msgspec.structs.replace(_WITHOUT_INTERVALS, furthest=0.037, plateau=None)
SENTENCES: Mapping[str, Callable[[], Sequence[str]]] = {
    "predict what was not measured": _unmeasured,
    "size that holds an hour": lambda: _sentences(size_for(model(), 3.1 * GIB, 300)),
    "size that recovers in time": lambda: _sentences(
        size_for(model(storage="gp3-3000", pool=512 * MIB), 7.15 * GIB, 60)
    ),
    "size of a server that gets stuck": lambda: _sentences(
        size_for(model("mysql-9", pool=512 * MIB), 3.1 * GIB, 36_000)
    ),
    "size of a server whose log limits its rows": lambda: _sentences(size_for(model("mysql-5.6.51"), 40 * MIB, 600)),
    "no size recovers in time": lambda: _sentences(size_for(model(), 7.15 * GIB, 0.01)),
    "size until rolled back, and what would change it": _too_late,
    "size by samples": _by_samples,
    "size, one load of each size": lambda: _sentences(of_trade(with_gains(throughput=None, lost=None, loads=1))),
    "size, loads in different seconds": lambda: _sentences(of_trade(_OTHER_SECONDS)),
    "size, throughput of another load": lambda: _sentences(of_trade(msgspec.structs.replace(TRADE, workload="tpcc"))),
}
PRINTED: Mapping[str, Callable[[Console], None]] = {"predict": _predict, "size": _size, "size compared": _compare}


def _words(case: str) -> str:
    if case in SENTENCES:
        return "\n".join(SENTENCES[case]())
    text = io.StringIO()
    PRINTED[case](Console(file=text, width=160))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip()


def _kept() -> Mapping[str, str]:
    """Return the words of each case."""
    sections = WORDS.read_text().removeprefix("## ").split("\n\n## ")
    return {name: words.strip() for name, _, words in (section.partition("\n\n") for section in sections)}


@pytest.mark.parametrize("case", [*PRINTED, *SENTENCES])
def test_an_answer_has_the_words_of_the_file(case: str) -> None:
    assert _words(case) == _kept()[case]


if __name__ == "__main__":
    WORDS.write_text("\n\n".join(f"## {case}\n\n{_words(case)}" for case in (*PRINTED, *SENTENCES)) + "\n")
