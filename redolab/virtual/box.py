"""The lab's own box: Debian with all that the lab needs in a guest, built on this machine."""

from __future__ import annotations

from pathlib import Path

import xxhash

from redolab.errors import InvalidInput
from redolab.lab import tools_of
from redolab.machine import files, processes
from redolab.machine.apt import codename, distribution, sources
from redolab.machine.clean_up_journal import Journal
from redolab.machine.processes import Command
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.units import format_size
from redolab.virtual.watching import watch

_NEEDS = {
    "mmdebstrap": "mmdebstrap",
    "extlinux": "extlinux",
    "qemu-img": "qemu-utils",
    "sfdisk": "fdisk",
    "ssh-keygen": "openssh-client",
}
"""Program → the Debian package that has it."""
_ANOTHER = "name another box in vagrant/settings.local.yaml, as in 'box: debian/bookworm64'"
_PATIENCE = 3600.0


class Box:
    """The box, in a folder that is named for what it is made by."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _recipe()

    @property
    def file(self) -> Path:
        """What Vagrant adds."""
        return self._folder / "redolab.box"

    @property
    def kernel(self) -> Path:
        """The guest's kernel."""
        return self._folder / "vmlinuz"

    @property
    def version(self) -> str:
        """Another for each recipe."""
        return self._folder.name

    @property
    def is_built(self) -> bool:
        """Whether it is there, by the recipe of today."""
        return self.file.exists()

    def build(self, journal: Journal, progress: Progress) -> None:
        """Build it, unless it is there. Boxes by earlier recipes go. Raises `LabError`."""
        if self.is_built:
            return
        if not processes.is_root():
            raise InvalidInput("only root can build the box: its disk is mounted to make it boot", _ANOTHER)
        if distribution() != "debian":
            raise InvalidInput("the box is built of the packages of a Debian machine, and this is none", _ANOTHER)
        missing = [package for program, package in _NEEDS.items() if processes.which(program) is None]
        if missing:
            tools_of(PROJECT.lab).install(missing, progress)
        making = self._folder.with_name(f"{self._folder.name}.partial")
        with journal.making(making, "the half-built box"):
            files.make_folder(making)
            lists, options = sources(codename())
            files.write_whole(making / "sources.list", lists.encode())
            files.write_whole(making / "apt.conf", options.encode())
            with progress.stage("building the box") as stage:
                # In namespaces: what it mounts and whatever it has started goes with it.
                alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
                build = Command([*alone, "sh", str(PROJECT.vagrant / "box/build.sh"), str(making), codename()])
                watch(build, making.with_name("build.log"), stage, _PATIENCE, "the box could not be built")
                stage.outcome = format_size(files.folder_size(making))
            for name in files.names(self._folder.parent):
                if name not in (making.name, "build.log"):
                    files.remove(self._folder.parent / name)
            files.move(making, self._folder)


def _recipe() -> str:
    """A hash of all that the box is made by."""
    recipe = sorted((PROJECT.vagrant / "box").iterdir())
    content = b"".join(path.name.encode() + path.read_bytes() for path in recipe)
    return xxhash.xxh3_64_hexdigest(codename().encode() + content)
