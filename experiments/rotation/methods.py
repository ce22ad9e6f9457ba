"""The ways of rotating a log that are compared, and what each of them promises."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redolab.servers.dialects import Dialect

AGAIN = " again"
"""Ends the name of a part of a rotation that had to be done a second time."""


class Method(StrEnum):
    """Method of rotating a log."""

    COPYTRUNCATE = "copytruncate"
    RENAME_FLUSH = "rename-flush"
    RENAME_SYNC_FLUSH = "rename-sync-flush"
    RENAME_HUP = "rename-hup"
    RENAME_USR1 = "rename-usr1"
    RM_FLUSH = "rm-flush"

    @property
    def about(self) -> str:
        """Description for the help and the page."""
        return _ABOUT[self]

    @property
    def keeps_all(self) -> bool:
        """True where no statement may be lost, except with a file that is removed."""
        return self is not Method.COPYTRUNCATE

    @property
    def removes(self) -> bool:
        """True where the old file is removed, with all in it."""
        return self is Method.RM_FLUSH

    def exists_on(self, dialect: Dialect) -> bool:
        """Return whether a server of that dialect can be rotated so."""
        return self is not Method.RENAME_USR1 or dialect.flushes_logs_on_usr1


_ABOUT = {
    Method.COPYTRUNCATE: "the file is copied, the copy synced, the file truncated, as logrotate does",
    Method.RENAME_FLUSH: "the file is renamed, FLUSH LOCAL SLOW LOGS opens a new one",
    Method.RENAME_SYNC_FLUSH: "by redolab slowlog rotate: the file is synced and renamed, FLUSH LOCAL SLOW LOGS opens a new one",
    Method.RENAME_HUP: "the file is renamed, SIGHUP has the server open a new one",
    Method.RENAME_USR1: "the file is renamed, SIGUSR1 has the server open a new one (MySQL 8.0.19 and later)",
    Method.RM_FLUSH: "the file is removed, FLUSH LOCAL SLOW LOGS opens a new one",
}
