"""What can be chosen of the virtual machine, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errors import InvalidInput
from redolab.machines.virtual.vagrant import limits_of, read_settings


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the user's own values."""
    path = tmp_path / "settings.local.yaml"
    monkeypatch.setenv("REDOLAB_VAGRANT_SETTINGS", str(path))
    return path


def test_own_values_come_first(own: Path) -> None:
    own.write_text("box: debian/bookworm64\nmemory: 8G\n")
    settings = read_settings("virtualbox")
    chosen = [settings[name] for name in ("box", "memory", "provider", "cpus")]
    assert chosen == ["debian/bookworm64", "8G", "virtualbox", 2]


@pytest.mark.parametrize("text", ["memry: 8G", "provider: xen", "- 8G", "box: ["])
def test_a_wrong_value_is_refused(own: Path, text: str) -> None:
    own.write_text(text)
    with pytest.raises(InvalidInput):
        read_settings()


@pytest.mark.parametrize(
    ("profile", "limits"),
    [
        ("gp3-3000", ["--total-iops-sec=3000", "--total-bytes-sec=131072000"]),
        (
            "sata-ssd",
            [
                "--read-iops-sec=72000",
                "--read-bytes-sec=500000000",
                "--write-iops-sec=65000",
                "--write-bytes-sec=490000000",
            ],
        ),
    ],
)
def test_libvirt_is_told_a_profiles_limits(profile: str, limits: list[str]) -> None:
    assert limits_of(profile) == limits


@pytest.mark.parametrize("profile", ["hdd", "local", "no-such-disk"])
def test_what_is_more_than_limits_is_refused(profile: str) -> None:
    with pytest.raises(InvalidInput):
        limits_of(profile)
