"""The ways of logging that are compared."""

from __future__ import annotations

from enum import StrEnum

from redolab.errors import InvalidInput


class Arm(StrEnum):
    """A way in which a server notes its statements; the value is what a person writes."""

    NONE = "none"
    BUILT_IN = "built-in"
    """The server's slow query log, into a file."""
    PLUGIN = "plugin"
    """`slowlogplugin/`, one write a statement."""
    BUFFERED = "buffered"
    """The same, with lines gathered by each connection."""
    TABLE = "table"
    """The server's slow query log, into the table mysql.slow_log."""
    SCHEMA = "schema"
    """performance_schema is on, its digests off: the base of `DIGESTS`."""
    DIGESTS = "digests"
    """Digests of performance_schema."""

    @property
    def has_file(self) -> bool:
        """Whether it writes a file, which can lie on tmpfs or on a disk."""
        return self in {Arm.BUILT_IN, Arm.PLUGIN, Arm.BUFFERED}

    @property
    def has_schema(self) -> bool:
        """Whether its server is started with performance_schema=ON."""
        return self in {Arm.SCHEMA, Arm.DIGESTS}


def arms(text: str) -> tuple[Arm, ...]:
    """Ways of logging with commas, or all; `none` is always among them. Raises `InvalidInput`."""
    if text == "all":
        return tuple(Arm)
    names = [Arm.NONE.value, *(part.strip() for part in text.split(","))]
    unknown = [name for name in names if name not in {arm.value for arm in Arm}]
    if unknown:
        raise InvalidInput(f"'{unknown[0]}' is no way of logging", f"choose from all, {', '.join(Arm)}")
    return tuple(dict.fromkeys(Arm(name) for name in names))


class Place(StrEnum):
    """Where the log's file lies."""

    TMPFS = "tmpfs"
    DISK = "disk"
    NOWHERE = ""
    """There is no file."""


def places(text: str) -> tuple[Place, ...]:
    """`tmpfs`, `disk`, or both with a comma. Raises `InvalidInput`."""
    known = {Place.TMPFS.value, Place.DISK.value}
    names = [part.strip() for part in text.split(",")]
    if not set(names) <= known:
        raise InvalidInput(f"'{text}' is no place for a log", "choose from tmpfs, disk, or both with a comma")
    return tuple(dict.fromkeys(Place(name) for name in names))
