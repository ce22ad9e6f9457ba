"""Packages of a Debian or Ubuntu suite, unpacked into a root folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import msgspec

from redolab.errors import LabError
from redolab.machine import files, processes
from redolab.machine.apt import PrivateApt, distribution
from redolab.machine.processes import Command
from redolab.machine.tools import Tools


class DebianSource(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="debian"
):
    """Packages of one suite with their dependencies; `ubuntu_suite` has the same server for an Ubuntu machine."""

    tools: ClassVar[Sequence[str]] = ()
    suite: str
    packages: list[str]
    ubuntu_suite: str | None = None

    @property
    def about(self) -> str:
        """Return a description of the source."""
        return f"{', '.join(self.packages)} of Debian {self.suite}"

    def check_here(self) -> None:
        """Raise `LabError` if this machine's distribution has no suite with these packages."""
        self.suite_here()

    def fetch(self, tools: Tools, root: Path, work: Path) -> None:
        """Unpack the packages and everything they need into `root`; `work` is for apt's own files.

        Raises `LabError` if this machine's apt cannot reach a mirror that has the suite.
        """
        apt = PrivateApt.prepare(work, self.suite_here())
        apt.unpack(self.packages, root)
        _restore_merged_folders(root)

    def suite_here(self) -> str:
        """Return the suite with these packages for this machine's distribution. Raises `LabError`."""
        distribution_name = distribution()
        if distribution_name == "debian":
            return self.suite
        if distribution_name == "ubuntu" and self.ubuntu_suite is not None:
            return self.ubuntu_suite
        raise LabError(
            f"{self.packages[0]} of Debian {self.suite} cannot be had from the mirrors of this {distribution_name} machine",
            "choose another server (redolab servers)",
        )


def _restore_merged_folders(root: Path) -> None:
    """Move files of old packages from /lib and /lib64 to /usr, where the sandbox looks for them."""
    for name in ("lib", "lib64", "bin", "sbin"):
        if (root / name).exists():
            files.make_folder(root / "usr" / name)
            processes.run(Command(["cp", "--archive", f"{root / name}/.", str(root / "usr" / name)]))
            files.remove(root / name)
