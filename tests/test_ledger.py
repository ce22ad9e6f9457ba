from __future__ import annotations

from pathlib import Path

import pytest

from redolab.hosts.local import LocalHost
from redolab.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(LocalHost(), tmp_path / "ledger")


def test_what_is_left_half_made_goes(ledger: Ledger, tmp_path: Path) -> None:
    making = tmp_path / "making"

    def interrupted() -> None:
        with ledger.making(making, "a thing"):
            making.mkdir()
            (making / "half").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not making.exists()
    assert ledger.clear() == []


def test_what_is_finished_stays(ledger: Ledger, tmp_path: Path) -> None:
    making, made = tmp_path / "making", tmp_path / "made"
    with ledger.making(making, "a thing"):
        making.mkdir()
        making.rename(made)
    assert made.exists()
    assert ledger.clear() == []


def test_what_a_killed_lab_left_is_named_and_taken_away(ledger: Ledger, tmp_path: Path) -> None:
    making = tmp_path / "making"
    # Entered and never left: as SIGKILL does it.
    left = ledger.making(making, "a half-made thing")
    left.__enter__()
    making.mkdir()
    again = Ledger(LocalHost(), tmp_path / "ledger")
    assert again.clear() == ["a half-made thing"]
    assert not making.exists()
    assert again.clear() == []


def test_a_note_that_was_never_finished_goes_too(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    host = LocalHost()
    host.files.write(folder / ".0123456789abcdef.json.8521", b'{"path":"/som')
    assert Ledger(host, folder).clear() == []
    assert host.files.names(folder) == []
