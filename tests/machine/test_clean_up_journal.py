from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.machine.clean_up_journal import OURS_ELSEWHERE, Entry, Journal


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
    assert journal.clear() == ["a half-made thing"]
    assert not making.exists()
    assert journal.clear() == []


def test_what_is_there_for_a_while_goes_at_the_end_or_with_the_next_command(journal: Journal, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    with journal.temporary(made, "an image"):
        assert made.exists()
    assert not made.exists()
    made.mkdir()
    left = journal.temporary(made, "an image")
    left.__enter__()
    assert made.exists()
    assert journal.clear() == ["an image"]
    assert not made.exists()


def test_of_a_folder_among_the_users_things_only_what_is_empty_goes(journal: Journal, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "theirs" / OURS_ELSEWHERE, tmp_path / "theirs/file"
    left = journal.using(ours, "the folder ours")
    left.__enter__()
    (ours / "instances").mkdir(parents=True)
    theirs.touch()
    assert journal.clear() == ["the folder ours"]
    assert (ours.exists(), theirs.exists()) == (False, True)
    with journal.using(ours, "the folder ours"):
        (ours / "kept").mkdir(parents=True)
        (ours / "kept/file").touch()
    assert (ours / "kept/file").exists()
    assert journal.clear() == []


def test_a_removal_that_is_broken_off_is_ended_by_the_next_command(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "images/kept"
    (kept / "data").mkdir(parents=True)
    (kept / "image.json").write_text("{}")

    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("redolab.machine.files.shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            journal.remove(kept, "image.json", "a half-removed image")
    # What is left is not taken for an image.
    assert files.names(kept) == ["data"]
    assert journal.clear() == ["a half-removed image"]
    assert files.names(tmp_path / "images") == []


def test_a_file_that_is_no_note_is_left_alone(journal: Journal, tmp_path: Path) -> None:
    for name in ("notes.txt", "2025.json", "0123456789abcdef.json.old"):
        files.write_whole(tmp_path / "journal" / name, b"precious")
    assert journal.clear() == []
    assert files.names(tmp_path / "journal") == ["0123456789abcdef.json.old", "2025.json", "notes.txt"]


def noted(journal: Path, path: Path, **more: Any) -> None:
    entry = Entry(path=str(path), what="a thing", **more)
    files.write_whole(journal / "0123456789abcdef.json", msgspec.json.encode(entry))


@pytest.mark.parametrize("more", [{}, {"mounted": True}, {"only_empty": True}], ids=["made", "mounted", "user's"])
@pytest.mark.parametrize("where", ["beside", "lab/../beside", "lab/link/thing", "lab", "lab/.."])
def test_a_note_of_what_lies_outside_is_never_obeyed(where: str, more: dict[str, bool], tmp_path: Path) -> None:
    for name in ("beside/empty", "theirs/thing/empty", "lab/journal"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lab/link").symlink_to(tmp_path / "theirs")
    before = sorted(tmp_path.rglob("*"))
    noted(tmp_path / "lab/journal", tmp_path / where, **more)
    journal = Journal(tmp_path / "lab/journal")
    assert journal.clear() == []
    assert journal.drop_foreign() == [str(tmp_path / where)]
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(InvalidInput), journal.making(tmp_path / where, "a thing"):
        pass
    with pytest.raises(InvalidInput):
        journal.remove(tmp_path / where, "empty", "a thing")
    assert sorted(tmp_path.rglob("*")) == before


def test_of_a_link_only_the_link_goes(tmp_path: Path) -> None:
    (tmp_path / "theirs/thing/empty").mkdir(parents=True)
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/link").symlink_to(tmp_path / "theirs")
    noted(tmp_path / "lab/journal", tmp_path / "lab/link", mounted=True)
    assert Journal(tmp_path / "lab/journal").clear() == ["a thing"]
    assert not (tmp_path / "lab/link").is_symlink()
    assert (tmp_path / "theirs/thing/empty").exists()


def test_a_link_called_as_the_labs_folder_among_the_users_things_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs/empty").mkdir(parents=True)
    ours = tmp_path / OURS_ELSEWHERE
    ours.symlink_to(tmp_path / "theirs")
    journal = Journal(tmp_path / "lab/journal")
    noted(tmp_path / "lab/journal", ours, only_empty=True)
    assert journal.clear() == []
    noted(tmp_path / "lab/journal", ours / "empty")
    assert journal.clear() == []
    assert (tmp_path / "theirs/empty").exists()


def test_what_was_being_made_on_a_disk_that_is_not_mounted_is_not_forgotten(tmp_path: Path) -> None:
    """As after a reboot: it is there again with the disk."""
    copy = tmp_path / "disk" / OURS_ELSEWHERE / "instances/copy"
    noted(tmp_path / "lab/journal", copy, on=str(tmp_path / "disk"))
    journal = Journal(tmp_path / "lab/journal")
    assert journal.clear() == []
    copy.mkdir(parents=True)
    assert journal.clear() == ["a thing"]
    noted(tmp_path / "lab/journal", copy, on="/")
    assert journal.clear() == []
    copy.mkdir(parents=True)
    assert journal.clear() == []
    assert copy.exists()


def test_a_note_that_cannot_be_read_is_named(journal: Journal, tmp_path: Path) -> None:
    files.write_whole(tmp_path / "journal/0123456789abcdef.json", b"{}")
    with pytest.raises(LabError) as unreadable:
        journal.clear()
    assert "0123456789abcdef.json" in unreadable.value.problem
