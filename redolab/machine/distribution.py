"""Linux distribution of this machine, and how to install packages on it.

The lab installs with apt. On a distribution without apt it names Debian's packages for a person to install.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

_WITH_APT = ("debian", "ubuntu")


def os_release() -> Mapping[str, str]:
    """Return the fields of /etc/os-release; empty without that file."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


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
