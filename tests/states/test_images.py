"""The store of crash images."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from redolab.errors import InvalidInput
from redolab.machine.clean_up_journal import Journal
from redolab.records.crash import MARK, CrashImage
from redolab.states.images import ImageStore
from tests.examples import image


def test_what_is_no_name_of_an_image_removes_nothing(tmp_path: Path) -> None:
    for name in ("photos/image.json", "storage/images/one/image.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("{}")
    store, journal = ImageStore(tmp_path / "storage"), Journal(tmp_path / "journal")
    for name in ("../../photos", ".", "..", "", str(tmp_path / "photos")):
        store.remove(name, journal)
    assert (tmp_path / "photos/image.json").exists()
    store.remove("one", journal)
    assert store.names() == []


def test_an_image_is_taken_again_on_the_machine_that_made_it(tmp_path: Path) -> None:
    made = image()
    for name in ("data", "leftover"):
        (tmp_path / "instance" / name).mkdir(parents=True)
    ImageStore(tmp_path, "here").keep(made, tmp_path / "instance")
    assert sorted(path.name for path in (tmp_path / "images" / made.name).iterdir()) == ["data", MARK, "made-on"]
    assert ImageStore(tmp_path, "here").find(made.spec) == made
    assert ImageStore(tmp_path, "an equal one").find(made.spec) is None
    # It is there all the same, for who asks for it by name.
    assert ImageStore(tmp_path, "an equal one").get(made.name) == made


def test_one_of_which_it_was_not_noted_is_taken(tmp_path: Path) -> None:
    made = image()
    (tmp_path / "instance" / "data").mkdir(parents=True)
    ImageStore(tmp_path).keep(made, tmp_path / "instance")
    assert ImageStore(tmp_path, "here").find(made.spec) == made


def test_to_find_one_by_name_no_other_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, made = ImageStore(tmp_path), image()
    for name in (made.name, "other"):
        (tmp_path / "instance" / "data").mkdir(parents=True)
        store.keep(replace(made, name=name), tmp_path / "instance")
    read: list[str] = []
    whole = ImageStore.read

    def noted(self: ImageStore, name: str) -> CrashImage | None:
        read.append(name)
        return whole(self, name)

    monkeypatch.setattr(ImageStore, "read", noted)
    assert store.get(made.name) == made
    assert read == [made.name]
    for name in ("third", "../images/other", ""):
        with pytest.raises(InvalidInput, match=made.name):
            store.get(name)
