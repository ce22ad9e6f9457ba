"""What every guest boots: Debian's kernel, and a first file system with busybox and the kernel's modules. Made once."""

from __future__ import annotations

import lzma
import platform
from dataclasses import dataclass
from pathlib import Path

import xxhash

from redolab.errors import InvalidInput, LabError
from redolab.lab import Lab
from redolab.machine import files, processes
from redolab.machine.apt import PrivateApt, codename
from redolab.machine.distribution import names
from redolab.machine.kvm import boots_under_kvm
from redolab.machine.processes import Command

QEMU = "qemu-system-x86_64"
MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "crc32c_generic", "xfs", "ext4")
"""Those that a guest asks its kernel for; some are in the kernel itself."""
_QEMU_PACKAGE = "qemu-system-x86"
_PACKAGES = ("linux-image-cloud-amd64", "busybox-static")
_INIT = Path(__file__).with_name("init.sh")
_KERNEL, _FIRST, _BUSYBOX, _KVM = "vmlinuz", "initramfs", "busybox", "kvm"


@dataclass(frozen=True, slots=True)
class GuestParts:
    """The files that QEMU is given."""

    kernel: Path
    first_file_system: Path
    busybox: Path
    kvm: bool
    """Whether a guest boots under KVM here; else QEMU emulates its processors."""


def check_guests() -> None:
    """Raises `InvalidInput` on a machine that is no Debian on x86-64."""
    if names()[0] != "debian" or platform.machine() != "x86_64":
        raise InvalidInput(
            "a virtual machine's power can be cut on Debian on x86-64 alone: the guest is made of its packages",
            "choose CRASH=disk-power",
        )


def guest_parts(lab: Lab) -> GuestParts:
    """What guests boot, made of the packages of this machine's own mirror if it is not there yet.

    Raises `InvalidInput` as `check_guests` does, `LabError`.
    """
    check_guests()
    if processes.which(QEMU) is None:
        lab.tools.install([_QEMU_PACKAGE], lab.progress)
    folder = lab.tools.own(f"guest-{_recipe()}")
    if not folder.exists():
        making = folder.with_name("guest.partial")
        with lab.journal.making(making, "the half-made guest"), lab.progress.stage("making the guest") as stage:
            for name in files.names(folder.parent):
                if name.startswith("guest-"):
                    files.remove(folder.parent / name)
            stage.say("getting Debian's kernel and busybox")
            PrivateApt.prepare(making / "apt", codename()).unpack(_PACKAGES, making / "unpacked")
            _make(making / "unpacked", making)
            for name in ("apt", "unpacked", "tree"):
                files.remove(making / name)
            stage.say("whether it boots under KVM")
            files.write_whole(making / _KVM, str(int(boots_under_kvm(making / _KERNEL, making))).encode())
            files.move(making, folder)
    return GuestParts(folder / _KERNEL, folder / _FIRST, folder / _BUSYBOX, (folder / _KVM).read_bytes() == b"1")


def _make(unpacked: Path, to: Path) -> None:
    """Kernel, busybox and the first file system, of packages unpacked without their scripts."""
    kernel, busybox = _one(unpacked, "boot/vmlinuz-*"), to / _BUSYBOX
    version = kernel.name.removeprefix("vmlinuz-")
    files.move(kernel, to / _KERNEL)
    files.move(_one(unpacked, "**/bin/busybox"), busybox)
    tree, modules = to / "tree", _one(unpacked, f"**/lib/modules/{version}")
    for name in ("bin", "sbin", "lib/modules"):
        files.make_folder(tree / name)
    processes.run(Command(["cp", str(busybox), str(tree / "bin/busybox")]))
    # By that name the kernel asks for more modules.
    (tree / "sbin/modprobe").symlink_to("/bin/busybox")
    processes.run(Command(["install", "--mode=755", str(_INIT), str(tree / "init")]))
    _take_modules(modules, tree / "lib/modules" / version, busybox)
    pack = 'cd "$1" && find . | "$2" cpio -o -H newc >"$3"'
    processes.run(Command(["sh", "-c", pack, "sh", str(tree), str(busybox), str(to / _FIRST)]))


def _take_modules(modules: Path, to: Path, busybox: Path) -> None:
    """The modules of `MODULES` with all that they depend on, and the lists by which they are found."""
    for packed in modules.rglob("*.ko.xz"):
        files.write_whole(packed.with_suffix(""), lzma.decompress(packed.read_bytes()))
        packed.unlink()
    processes.run(Command([str(busybox), "depmod", "-b", str(modules.parents[2]), modules.name]))
    needs = {
        Path(name): [Path(each) for each in needed.split()]
        for name, _, needed in (line.partition(":") for line in (modules / "modules.dep").read_text().splitlines())
    }
    wanted = {path for name, needed in needs.items() if name.stem in MODULES for path in (name, *needed)}
    for path in wanted:
        files.make_folder((to / path).parent)
        processes.run(Command(["cp", str(modules / path), str(to / path)]))
    processes.run(Command([str(busybox), "depmod", "-b", str(to.parents[2]), to.name]))


def _one(folder: Path, pattern: str) -> Path:
    found = sorted(path for path in folder.glob(pattern) if not path.is_symlink())
    if not found:
        raise LabError(f"Debian's packages have no {pattern}", "see 'redolab doctor'")
    return found[-1]


def _recipe() -> str:
    """A hash of all that a guest is made by."""
    return xxhash.xxh3_64_hexdigest(
        f"{codename()} {QEMU} {_PACKAGES} {MODULES}".encode() + _INIT.read_bytes() + Path(__file__).read_bytes()
    )
