"""How a host treats what a virtual machine writes to its disk."""

from __future__ import annotations

from enum import StrEnum


class HostCache(StrEnum):
    """QEMU's `cache=` of a drive (QEMU's manual, `-drive`)."""

    NONE = "none"
    """Past the host's page cache; a flush of the guest's is one of the disk."""
    WRITEBACK = "writeback"
    """Through the host's page cache; a flush of the guest's writes it back, and is one of the disk."""
    UNSAFE = "unsafe"
    """Through the host's page cache; flushes of the guest's are answered and ignored."""
