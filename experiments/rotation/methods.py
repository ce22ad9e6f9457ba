"""The ways of rotating a log that are compared, and what each of them promises."""

from __future__ import annotations

from enum import StrEnum

AGAIN = " again"
"""Ends the name of a part of a rotation that had to be done a second time."""


class Method(StrEnum):
    """How a log is rotated."""

    COPYTRUNCATE = "copytruncate"
    RENAME_FLUSH = "rename-flush"
    RENAME_SYNC_FLUSH = "rename-sync-flush"
    RENAME_HUP = "rename-hup"
    RM_FLUSH = "rm-flush"

    @property
    def about(self) -> str:
        """What is done, in words."""
        return _ABOUT[self]

    @property
    def keeps_all(self) -> bool:
        """Whether it is to lose no statement, but those of a file that is removed."""
        return self is not Method.COPYTRUNCATE

    @property
    def removes(self) -> bool:
        """Whether the old file goes, with all in it."""
        return self is Method.RM_FLUSH


_ABOUT = {
    Method.COPYTRUNCATE: "the file is copied, the copy synced, the file truncated, as logrotate does",
    Method.RENAME_FLUSH: "the file is renamed, FLUSH LOCAL SLOW LOGS opens a new one",
    Method.RENAME_SYNC_FLUSH: "the same, with the renamed file synced before, as redolab slowlog rotate does",
    Method.RENAME_HUP: "the file is renamed, SIGHUP has the server open a new one",
    Method.RM_FLUSH: "the file is removed, FLUSH LOCAL SLOW LOGS opens a new one",
}
