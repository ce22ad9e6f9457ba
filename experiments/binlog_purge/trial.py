"""What is measured: a stretch of writing without a removal of binary logs, and one with it, on the same instance."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from redolab.units import format_size

_NEARLY_ALL = 0.9


class Removal(StrEnum):
    """How the files are removed."""

    PURGE = "purge"
    """By PURGE BINARY LOGS TO on a connection of its own."""
    ROTATION = "rotation"
    """As expired, by the commit that makes the server rotate its binary log: as in the published case."""


class PurgeCell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of the factors."""

    server: str
    storage: str
    file_system: str
    """`as-is`: the one that the lab's folder lies on."""
    removal: Removal
    file_size: int
    """Bytes after which the server begins another file."""
    purged: int
    """Bytes of all files that are removed, but for what the last statement in each is longer."""
    cached: bool
    """Whether they are left in the page cache, where they are since they were written."""

    @property
    def files(self) -> int:
        """How many files are removed."""
        return self.purged // self.file_size

    @property
    def files_in_words(self) -> str:
        """As in `40 files of 50M`."""
        return f"{self.files} file{'s' * (self.files != 1)} of {format_size(self.file_size)}"


class PreparedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files that are removed, as they lie there before."""

    bytes: tuple[int, ...]
    """Of each file."""
    extents: tuple[int, ...] | None
    """Of each file, by filefrag; None where this machine does not say."""
    cached_bytes: int | None
    """Of all files in the page cache, by fincore; None where this machine does not say."""
    seconds: float
    """That the server took to write them."""


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """What the clients met in one stretch; a statement belongs to the stretch in which it was due."""

    seconds: float
    statements: int
    longest_wait_s: float
    """Of one statement, from when it was due to its acknowledgement."""
    waits_over_100ms: int
    """Statements that took longer than 100 ms, counted so."""
    longest_without_commit_s: float
    """The longest time in which no client's commit was acknowledged."""
    commits: tuple[int, ...]
    """Acknowledged in each whole second of it."""


class RemovalTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The removal itself."""

    seconds: float
    """From the statement to its answer; at a rotation, from the new file to when the server is done with its list of files to remove."""
    commits: int
    """Acknowledged to clients within these seconds."""
    longest_within_s: float
    """The longest part of these seconds without a commit."""
    longest_without_commit_s: float
    """The longest time without a commit that has any part of the removal in it."""


class PurgeTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One removal, with the stretch before it."""

    cell: PurgeCell
    version: str
    repeat: int
    rate: float
    """Statements a second that all clients together were to send."""
    clients: int
    files: PreparedFiles
    quiet: Stretch
    removing: Stretch
    """From the moment of the removal, as long as `quiet` or until a second after it."""
    removal: RemovalTimes

    @property
    def slow_seconds(self) -> int:
        """Whole seconds of `removing` with less than half of the commits that a second of `quiet` has in the median."""
        ordered = sorted(self.quiet.commits)
        half = ordered[len(ordered) // 2] / 2 if ordered else 0.0
        return sum(each < half for each in self.removing.commits)

    @property
    def usual_commits(self) -> float:
        """As many as clients made in the stretch before, in as long as the removal took."""
        return sum(self.quiet.commits) / max(1, len(self.quiet.commits)) * self.removal.seconds

    @property
    def is_long_enough(self) -> bool:
        """Whether the removal took longer than any time without a commit before it: else a stop of all writers would not show."""
        return self.removal.seconds > self.quiet.longest_without_commit_s

    @property
    def stood_still(self) -> bool:
        """Whether the removal was long enough, and nearly all of it one time without a commit.

        Nearly: what was on its way when it began is acknowledged in its first moments.
        """
        return self.is_long_enough and self.removal.longest_within_s >= _NEARLY_ALL * self.removal.seconds

    @property
    def kept_up(self) -> float:
        """Of the statements that were to be sent without a removal, the share that was acknowledged in that time."""
        return sum(self.quiet.commits) / max(1.0, self.rate * len(self.quiet.commits))
