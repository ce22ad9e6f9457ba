"""The store of crash images."""

from __future__ import annotations

from pathlib import Path

from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import MARK
from redolab.machine.clean_up_journal import Journal
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
