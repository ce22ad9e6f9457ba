"""The lab's own box, built on this machine: Debian with everything that the lab needs in a guest.

Its kernel also shows if KVM works: a machine may have the device and still be unable to use it.
"""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import xxhash

from redolab.errors import InvalidInput, LabError
from redolab.lab import journal_of, tools_of
from redolab.machine import files, processes
from redolab.machine.apt import codename, distribution, sources
from redolab.machine.processes import Command
from redolab.progress import Progress, Stage
from redolab.project import PROJECT
from redolab.units import format_size

KERNEL = "vmlinuz"
"""The guest's kernel, beside the box."""
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
_PREFIX = re.compile(r"^(\s*(==>|\S+:)\s)+")
"""Prefix of each line of Vagrant's."""
_KVM_DEVICE = Path("/dev/kvm")
_QEMU = "qemu-system-x86_64"
_KVM_PATIENCE = 20.0
_KERNEL_BANNER = "Linux version"
_WIDTH = 70
_LAST_LINES = 8


def box_file(boxes: Path) -> Path:
    """Return the file that Vagrant adds, built or not, in a folder that is named for all that the box is made by."""
    recipe = sorted((PROJECT.vagrant / "box").iterdir())
    content = b"".join(path.name.encode() + path.read_bytes() for path in recipe)
    return boxes / xxhash.xxh3_64_hexdigest(codename().encode() + content) / "redolab.box"


def build_box(boxes: Path, progress: Progress) -> Path:
    """Build the box, unless it is there, and return its file. Boxes by earlier recipes go. Raises `LabError`."""
    file = box_file(boxes)
    if file.exists():
        return file
    if not processes.is_root():
        raise InvalidInput("only root can build the box: its disk is mounted to make it boot", _ANOTHER)
    if distribution() != "debian":
        raise InvalidInput("the box is built of the packages of a Debian machine, and this is none", _ANOTHER)
    if missing := [package for program, package in _NEEDS.items() if processes.which(program) is None]:
        tools_of(PROJECT.lab).install(missing, progress)
    files.remove(boxes)
    making = boxes / "making"
    with journal_of(PROJECT.lab).making(making, "the half-built box"), progress.stage("building the box") as stage:
        files.make_folder(making)
        lists, options = sources(codename())
        files.write_whole(making / "sources.list", lists.encode())
        files.write_whole(making / "apt.conf", options.encode())
        # In namespaces of the script's own, its mounts and processes end with it.
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
        build = Command([*alone, "sh", str(PROJECT.vagrant / "box/build.sh"), str(making), codename()])
        watch(build, boxes / "build.log", stage, _PATIENCE, "the box could not be built")
        stage.outcome = format_size(files.folder_size(making))
        files.move(making, file.parent)
    return file


def watch(command: Command, log: Path, stage: Stage, seconds: float, failed: str) -> None:
    """Run a program to its end, or to its timeout; its lines go to `log` and beside the stage. Raises `LabError`."""

    def on_line(line: str) -> None:
        stage.say(_PREFIX.sub("", line).strip()[:_WIDTH])

    status = processes.run_by_lines(command, log, on_line, seconds, end_by=signal.SIGINT)
    if status != 0:
        why = "it took too long" if status is None else f"status {status}"
        lines = [line.rpartition("\r")[2].rstrip() for line in log.read_text(errors="replace").splitlines()]
        raise LabError(
            f"{failed} ({why})", f"all it said is in {log}", details=list(filter(None, lines))[-_LAST_LINES:]
        )


def boots_under_kvm(kernel: Path | None, folder: Path) -> bool:
    """Return True if the kernel boots far enough under KVM to print. Without a kernel: if QEMU starts with KVM.

    `folder` holds the output.
    """
    if not _KVM_DEVICE.exists() or processes.which(_QEMU) is None:
        return False
    kernel = kernel if kernel is not None and kernel.exists() else _own_kernel()
    if kernel is None:
        return _qemu_starts()
    shown = ["-display", "none", "-no-reboot", "-serial", "stdio", "-monitor", "none"]
    boot = ["-kernel", str(kernel), "-append", "console=ttyS0 earlyprintk=ttyS0 panic=-1"]
    command = Command([_QEMU, "-accel", "kvm", "-cpu", "host", "-m", "512M", *shown, *boot])
    process = processes.start(command, folder / "kvm.log")
    try:
        deadline = time.monotonic() + _KVM_PATIENCE
        return any(_KERNEL_BANNER in line.text for line in process.lines(deadline))
    finally:
        process.stop()


def _qemu_starts() -> bool:
    ask = Command(
        [_QEMU, "-accel", "kvm", "-machine", "none", "-display", "none", "-monitor", "stdio"], standard_input=b"quit\n"
    )
    return processes.run(ask, seconds=_KVM_PATIENCE, check=False).status == 0


def _own_kernel() -> Path | None:
    """Return a kernel of this machine; None if it keeps none in /boot."""
    return next(iter(sorted(Path("/boot").glob("vmlinuz-*"), reverse=True)), None)
