"""Names of servers as people give them, and the calibrated server that stands for one."""

from __future__ import annotations

import re

from redolab.errors import InvalidInput
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Dialect, Version, dialect_of, later_differ
from redolab.sizing.calibration import CalibratedServer, Calibration
from redolab.sizing.relatives import nearest_first

_FAMILIES = {"mysql": "mysql", "percona": "mysql", "mariadb": "mariadb"}
NAME = re.compile(r"(mysql|percona|mariadb)[- ]?(\d+\.\d+(?:\.\d+)?)", re.IGNORECASE)
"""Product and version, as in `mysql-8.4.3`."""


def asked_server(name: str) -> tuple[str, Version, Dialect]:
    """Return family, version and dialect of a catalogue server, or of a family and version. Raises `InvalidInput`."""
    catalogue = server_catalogue()
    if name in catalogue.names():
        entry = catalogue.get(name)
        return entry.family, Version.parse(entry.version), entry.dialect()
    match = NAME.fullmatch(name)
    if match is None:
        known = ", ".join(catalogue.names())
        raise InvalidInput(
            f"there is no server '{name}'", f"choose from {known}, or a version as in mysql-8.4.3, percona-8.0.36"
        )
    family, version = _FAMILIES[match[1].lower()], Version.parse(match[2])
    if match[2].count(".") == 1 and later_differ(family, version):
        raise InvalidInput(f"releases of {name} recover, or are resized, in different ways", "give yours in full")
    return family, version, dialect_of(family, version)


def nearest(calibration: Calibration, name: str, dialect: Dialect) -> tuple[str, CalibratedServer]:
    """Return the calibrated server of that name, else the most similar of its family. Raises `InvalidInput`."""
    servers = calibration.servers
    if name in servers:
        return name, servers[name]
    relatives = nearest_first(
        dialect, {each: dialect_of(server.family, Version.parse(server.version)) for each, server in servers.items()}
    )
    if not relatives:
        raise InvalidInput(
            f"the calibration has no server like {name}",
            f"it has {', '.join(servers)}: 'make experiment calibrate SERVER={name}'",
        )
    return relatives[0], servers[relatives[0]]


def is_alike(family: str, version: Version, server: CalibratedServer) -> bool:
    """Return True if a version recovers like a calibrated server: of the same series, with the same recovery code."""
    measured = Version.parse(server.version)
    if (family, version.major, version.minor) != (server.family, measured.major, measured.minor):
        return False
    return dialect_of(family, version).recovery_code == dialect_of(family, measured).recovery_code
