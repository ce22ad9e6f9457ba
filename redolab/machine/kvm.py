"""Test for KVM: a kernel is booted, because a machine may have the device and still be unable to use it."""

from __future__ import annotations

import time
from pathlib import Path

from redolab.machine import processes
from redolab.machine.processes import Command

_DEVICE = Path("/dev/kvm")
_QEMU = "qemu-system-x86_64"
_PATIENCE = 20.0
_KERNEL_BANNER = "Linux version"


def boots_under_kvm(kernel: Path | None, folder: Path) -> bool:
    """Return True if the kernel boots far enough under KVM to print. Without a kernel: if QEMU starts with KVM.

    `folder` holds the output.
    """
    if not _DEVICE.exists() or processes.which(_QEMU) is None:
        return False
    kernel = kernel if kernel is not None and kernel.exists() else _own_kernel()
    if kernel is None:
        return _qemu_starts()
    shown = ["-display", "none", "-no-reboot", "-serial", "stdio", "-monitor", "none"]
    boot = ["-kernel", str(kernel), "-append", "console=ttyS0 earlyprintk=ttyS0 panic=-1"]
    command = Command([_QEMU, "-accel", "kvm", "-cpu", "host", "-m", "512M", *shown, *boot])
    process = processes.start(command, folder / "kvm.log")
    try:
        deadline = time.monotonic() + _PATIENCE
        return any(_KERNEL_BANNER in line.text for line in process.lines(deadline))
    finally:
        process.stop()


def _qemu_starts() -> bool:
    ask = Command(
        [_QEMU, "-accel", "kvm", "-machine", "none", "-display", "none", "-monitor", "stdio"], standard_input=b"quit\n"
    )
    return processes.run(ask, seconds=_PATIENCE, check=False).status == 0


def _own_kernel() -> Path | None:
    """Return a kernel of this machine; None if it keeps none in /boot."""
    return next(iter(sorted(Path("/boot").glob("vmlinuz-*"), reverse=True)), None)
