"""The recipe of the container image: what it installs is what the lab takes, and a clone's own things stay out of it."""

from __future__ import annotations

import re
from fnmatch import fnmatch

from redolab.disks.disk_model import BUILD_PACKAGES
from redolab.machine.tools import PACKAGES
from redolab.project import PROJECT

RECIPE = (PROJECT.root / "provision/container/Containerfile").read_text()
FETCHED_LATER = {"maven", "npm"}


def test_it_installs_all_that_the_lab_takes_from_an_image_without_a_host_name() -> None:
    (installed,) = re.findall(r"--no-install-recommends \\\n\s+(.+)\n", RECIPE)
    assert (set(PACKAGES.values()) - FETCHED_LATER) | set(BUILD_PACKAGES) < set(installed.split())
    assert re.findall(r"^FROM (.*)$", RECIPE, re.MULTILINE) == ["debian:bookworm-slim"]
    assert "://" not in RECIPE


def test_what_git_leaves_out_stays_out_of_the_image() -> None:
    left_out = [line for line in (PROJECT.root / ".dockerignore").read_text().splitlines() if line[:1] not in ("", "#")]
    ignored = (PROJECT.root / ".gitignore").read_text().split()
    missing = [name for name in ignored if not any(fnmatch(_path(name), _path(pattern)) for pattern in left_out)]
    assert missing == []


def _path(pattern: str) -> str:
    """A pattern of git's or of an image's context without what the two write differently."""
    return pattern.removeprefix("**/").strip("/")
