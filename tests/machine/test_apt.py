"""The lab's own apt, with the archive that this machine's apt reaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errors import NotInArchive
from redolab.machine.apt import PrivateApt, codename

pytestmark = pytest.mark.alone


def test_a_source_package_is_unpacked_in_the_version_asked_for(tmp_path: Path) -> None:
    apt = PrivateApt.prepare(tmp_path / "apt", codename(), source_packages=True)
    version = apt.source_versions("hello")[0]
    apt.unpack_source("hello", version, tmp_path / "tree")
    assert f"hello ({version})" in (tmp_path / "tree/debian/changelog").read_text()
    with pytest.raises(NotInArchive):
        apt.unpack_source("hello", "0.0-0", tmp_path / "none")
    assert apt.source_versions("no-such-package-of-debian") == []
