"""Linux distribution of this machine, and how to install packages on it.

The lab installs with apt. On a distribution without apt it names Debian's packages for a person to install.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

OS_RELEASE = Path("/etc/os-release")
_WITH_APT = ("debian", "ubuntu")


def os_release() -> Mapping[str, str]:
    """Return the fields of /etc/os-release; empty without that file."""
    try:
        lines = OS_RELEASE.read_bytes().decode(errors="replace").splitlines()
    except OSError:
        return {}
    return {name: value.strip("\"'") for name, value in (line.split("=", 1) for line in lines if "=" in line)}


def names() -> Sequence[str]:
    """Return the distribution's own name, then the names of distributions that it is like."""
    release = os_release()
    return [release.get("ID", "unknown"), *release.get("ID_LIKE", "").split()]


def has_apt() -> bool:
    """Return True if this distribution installs with apt, so that the lab can get packages itself."""
    return any(name in _WITH_APT for name in names())


def how_to_install(packages: Sequence[str]) -> str:
    """Return the command by which a person installs packages with these Debian names."""
    return f"{'apt install' if has_apt() else 'install'} {' '.join(packages)}"
