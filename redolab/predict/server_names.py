"""Names of servers as people give them, and the calibrated server that stands for one."""

from __future__ import annotations

from collections.abc import Mapping

from redolab.errors import InvalidInput
from redolab.predict.calibration import CalibratedServer, Calibration
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import SERVER_NAME, Dialect, dialect_named, later_differ


def asked_dialect(name: str) -> Dialect:
    """Return the dialect of a catalogue server, or of a family and version. Raises `InvalidInput`."""
    catalogue = server_catalogue()
    if name in catalogue.names():
        return catalogue.get(name).dialect()
    if SERVER_NAME.fullmatch(name) is None or "." not in name:
        known = ", ".join(catalogue.names())
        raise InvalidInput(
            f"there is no server '{name}'", f"choose from {known}, or a version as in mysql-8.4.3, percona-8.0.36"
        )
    dialect = dialect_named(name)
    if name.count(".") == 1 and later_differ(dialect.family, dialect.version):
        raise InvalidInput(f"releases of {name} recover, or are resized, in different ways", "give yours in full")
    return dialect


def nearest(calibration: Calibration, name: str, dialect: Dialect) -> tuple[str, CalibratedServer]:
    """Return the calibrated server of that name, else the most similar of its family. Raises `InvalidInput`."""
    servers = calibration.servers
    if name in servers:
        return name, servers[name]
    relatives = nearest_first(dialect, {each: server.dialect for each, server in servers.items()})
    if not relatives:
        raise InvalidInput(
            f"the calibration has no server like {name}",
            f"it has {', '.join(servers)}: 'make experiment calibrate SERVER={name}'",
        )
    return relatives[0], servers[relatives[0]]


def nearest_first(server: Dialect, others: Mapping[str, Dialect]) -> list[str]:
    """Return the family's servers: first those with the same recovery code, then those with the same redo format."""

    def unlike(name: str) -> tuple[bool, bool, int, int]:
        other = others[name]
        return (
            other.recovery_code != server.recovery_code,
            other.redo_format != server.redo_format,
            abs(other.version.major - server.version.major),
            abs(other.version.minor - server.version.minor),
        )

    return sorted((name for name, other in others.items() if other.family == server.family), key=unlike)


def recovers_equally(one: Dialect, other: Dialect) -> bool:
    """Return True if two versions are of the same series, with the same recovery code."""
    return is_same_series(one, other) and one.recovery_code == other.recovery_code


def is_same_series(one: Dialect, other: Dialect) -> bool:
    """Return True if two versions differ in nothing but the patch level."""
    here, there = one.version, other.version
    return (one.family, here.major, here.minor) == (other.family, there.major, there.minor)
