"""Which Linux distribution this machine runs, and what its packages are called of what the lab takes.

The lab installs by itself with apt alone; elsewhere it names what a person has to install.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

OS_RELEASE = Path("/etc/os-release")


@dataclass(frozen=True, slots=True)
class Packaging:
    """How a family of distributions packs what the lab takes."""

    install: str
    names: Mapping[str, str] = field(default_factory=dict)
    """Debian's name of a package → the name here, where it is another."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Debian's name of a package → what has to be done first, where it is in no repository that is on from the start."""

    def remedy(self, packages: Sequence[str]) -> str:
        """How to install packages that have these names on Debian."""
        first = dict.fromkeys(self.elsewhere[name] for name in packages if name in self.elsewhere)
        named = [self.names.get(name, name) for name in packages]
        return "; ".join([*first, " ".join([self.install, *named])])


APT = Packaging("apt install")
DNF = Packaging(
    "dnf install",
    names={
        "libc6-dev": "glibc-devel",
        "libfuse3-dev": "fuse3-devel",
        "openssh-client": "openssh-clients",
        "pkg-config": "pkgconf-pkg-config",
    },
    elsewhere={"sysbench": "dnf install epel-release"},
)
_OF_RHEL = replace(
    DNF,
    elsewhere={
        "sysbench": "have EPEL (docs.fedoraproject.org/en-US/epel says how on your release: epel-release is in no repository of RHEL)"
    },
)
_OF_FEDORA = replace(DNF, elsewhere={})
_NAMED_BY_HAND = Packaging("install")
_FAMILIES = {"debian": APT, "ubuntu": APT, "rhel": DNF, "fedora": DNF, "centos": DNF}
_ITSELF = {"rhel": _OF_RHEL, "fedora": _OF_FEDORA}
"""By a distribution's own name alone, not by that which others say they are like."""


def os_release() -> Mapping[str, str]:
    """What /etc/os-release says; nothing where there is none."""
    try:
        lines = OS_RELEASE.read_bytes().decode(errors="replace").splitlines()
    except OSError:
        return {}
    return {name: value.strip("\"'") for name, value in (line.split("=", 1) for line in lines if "=" in line)}


def names() -> Sequence[str]:
    """The distribution's own name, then those that it says it is like."""
    release = os_release()
    return [release.get("ID", "unknown"), *release.get("ID_LIKE", "").split()]


def packaging() -> Packaging:
    """That of this machine; one without a package manager where it is not known."""
    own, *_ = known = names()
    return _ITSELF.get(own) or next((_FAMILIES[name] for name in known if name in _FAMILIES), _NAMED_BY_HAND)


def installs_by_itself() -> bool:
    """Whether the lab can get packages here."""
    return packaging() is APT


def how_to_install(packages: Sequence[str]) -> str:
    """What to do on this machine to have packages of these Debian names."""
    return packaging().remedy(packages)
