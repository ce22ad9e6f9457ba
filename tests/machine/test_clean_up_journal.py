from __future__ import annotations

from pathlib import Path

import pytest

from redolab.machine import files
from redolab.machine.clean_up_journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def test_what_is_left_half_made_goes(journal: Journal, tmp_path: Path) -> None:
    making = tmp_path / "making"

    def interrupted() -> None:
        with journal.making(making, "a thing"):
            making.mkdir()
            (making / "half").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not making.exists()
    assert journal.clear() == []


def test_what_is_finished_stays(journal: Journal, tmp_path: Path) -> None:
    making, made = tmp_path / "making", tmp_path / "made"
    with journal.making(making, "a thing"):
        making.mkdir()
        making.rename(made)
    assert made.exists()
    assert journal.clear() == []


def test_what_a_killed_lab_left_is_named_and_taken_away(journal: Journal, tmp_path: Path) -> None:
    making = tmp_path / "making"
    # Entered and never left: as SIGKILL does it.
    left = journal.making(making, "a half-made thing")
    left.__enter__()
    making.mkdir()
    again = Journal(tmp_path / "journal")
    assert again.clear() == ["a half-made thing"]
    assert not making.exists()
    assert again.clear() == []


def test_a_note_that_was_never_finished_goes_too(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    files.write_whole(folder / ".0123456789abcdef.json.8521", b'{"path":"/som')
    assert Journal(folder).clear() == []
    assert files.names(folder) == []


def test_of_a_folder_among_the_users_things_only_what_is_empty_goes(journal: Journal, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "theirs/ours", tmp_path / "theirs/file"
    left = journal.using(ours, "the folder ours")
    left.__enter__()
    (ours / "instances").mkdir(parents=True)
    theirs.touch()
    again = Journal(tmp_path / "journal")
    assert again.clear() == ["the folder ours"]
    assert (ours.exists(), theirs.exists()) == (False, True)
    with journal.using(ours, "the folder ours"):
        (ours / "kept").mkdir(parents=True)
        (ours / "kept/file").touch()
    assert (ours / "kept/file").exists()
    assert again.clear() == []
