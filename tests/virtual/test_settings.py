"""What can be chosen of the virtual machine, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errors import InvalidInput
from redolab.virtual.vagrant import OWN_BOX, limits_of, read_settings
from tests.command import redolab


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the user's own values."""
    path = tmp_path / "settings.local.yaml"
    monkeypatch.setenv("REDOLAB_VAGRANT_SETTINGS", str(path))
    return path


def test_without_own_values_the_projects_hold(own: Path) -> None:
    settings = read_settings()
    assert (settings["box"], settings["provider"]) == (OWN_BOX, "libvirt")


def test_own_values_come_first(own: Path) -> None:
    own.write_text("box: debian/bookworm64\nmemory: 8G\n")
    settings = read_settings("virtualbox")
    chosen = [settings[name] for name in ("box", "memory", "provider", "cpus")]
    assert chosen == ["debian/bookworm64", "8G", "virtualbox", 2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("memry: 8G", "memry"),
        ("provider: xen", "provider"),
        ("- 8G", "settings.local.yaml"),
        ("box: [", "settings.local.yaml"),
    ],
)
def test_a_wrong_value_is_named(own: Path, text: str, problem: str) -> None:
    own.write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        read_settings()


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(InvalidInput, match="xen"):
        read_settings("xen")


def test_a_provider_is_of_a_virtual_machine() -> None:
    said = redolab("run", "recovery", "--provider", "libvirt")
    assert said.returncode == 2
    assert "MACHINE=vagrant" in said.stderr


@pytest.mark.parametrize(
    ("profile", "limits"),
    [
        ("cloud-ssd", ["--total-iops-sec=3000", "--total-bytes-sec=131072000"]),
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


@pytest.mark.parametrize("profile", ["hdd", "native", "no-such-disk"])
def test_what_is_more_than_limits_is_refused(profile: str) -> None:
    with pytest.raises(InvalidInput, match=profile):
        limits_of(profile)
