"""Which folders the lab takes for its own: by what is in them, before anything is written there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from redolab.errors import InvalidInput
from redolab.machine.lab_folder import MARK, check_lab_folder, claim_lab_folder
from redolab.project import PROJECT


def make(folder: Path, content: Mapping[str, str]) -> None:
    for name, text in content.items():
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text(text)


def held(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"lost+found/": ""},
        {"lock": "process 7 on somewhere\n", f".{MARK}.71": "This fo"},
    ],
    ids=["empty", "file system", "killed at its beginning"],
)
def test_a_folder_of_the_labs_is_taken_and_marked(content: Mapping[str, str], tmp_path: Path) -> None:
    make(tmp_path, content)
    claim_lab_folder(tmp_path)
    assert (tmp_path / MARK).is_file()
    # From now on, whatever else is put there.
    make(tmp_path, {"photos/wedding.jpg": ""})
    check_lab_folder(tmp_path)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"photos/wedding.jpg": ""}, "photos"),
        ({"lock": "the door's"}, "lock"),
        ({"lock": "", "lost+found/": "", "servers/": "", "storage/local/": ""}, "servers, storage"),
        ({"a/": "", "b/": "", "c/": "", "d/": ""}, "a, b, c, …"),
    ],
)
def test_a_folder_of_somebody_elses_is_refused_and_nothing_changes(
    content: Mapping[str, str], found: str, tmp_path: Path
) -> None:
    make(tmp_path, content)
    before = held(tmp_path)
    with pytest.raises(InvalidInput) as refused:
        claim_lab_folder(tmp_path)
    assert f"({found})" in refused.value.problem
    assert refused.value.remedy.endswith(f"REDOLAB_LAB={tmp_path}/redolab")
    assert held(tmp_path) == before


def test_the_folder_that_is_suggested_is_one_that_will_be_taken(tmp_path: Path) -> None:
    make(tmp_path, {"photos/": "", "redolab/thesis.txt": "", "redolab-2": ""})
    with pytest.raises(InvalidInput) as refused:
        check_lab_folder(tmp_path)
    assert refused.value.remedy.endswith(f"REDOLAB_LAB={tmp_path}/redolab-3")


def test_runs_that_are_to_lie_there_are_no_reason_to_refuse_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAB_RUNS", str(tmp_path / "runs"))
    make(tmp_path, {"runs/20261124-000000-recovery/run.json": ""})
    claim_lab_folder(tmp_path)


def test_where_a_lab_usually_lies_it_is_the_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(PROJECT), "usual_lab", tmp_path)
    make(tmp_path, {"tests/lab/": ""})
    claim_lab_folder(tmp_path)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "file/deep/in/it", "link"):
        with pytest.raises(InvalidInput):
            claim_lab_folder(tmp_path / name)
    assert (tmp_path / "file").read_text() == "precious"


def test_a_link_to_the_labs_folder_is_good_and_one_in_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "link").symlink_to("lab")
    claim_lab_folder(tmp_path / "link")
    assert held(tmp_path / "lab") == [MARK]
    (tmp_path / "lab/storage").symlink_to(tmp_path / "theirs")
    with pytest.raises(InvalidInput):
        check_lab_folder(tmp_path / "lab")


def test_a_mark_that_is_a_link_marks_nothing(tmp_path: Path) -> None:
    make(tmp_path, {"photos/": "", "theirs.txt": "precious"})
    (tmp_path / MARK).symlink_to("theirs.txt")
    with pytest.raises(InvalidInput):
        claim_lab_folder(tmp_path)
    assert (tmp_path / "theirs.txt").read_text() == "precious"
