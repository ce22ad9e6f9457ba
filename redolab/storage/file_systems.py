"""The file systems that a lab disk can have, and how each is made."""

from __future__ import annotations

FILE_SYSTEMS = {
    "xfs": ("mkfs.xfs", "-q", "-f", "-s", "size=512"),
    "ext4": ("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
    # On disk as it was in 2014: block lists instead of extents. Kernels since 4.3 mount it with the code of ext4.
    "ext3": ("mkfs.ext3", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
}
"""Name → how it is made."""
