"""Names of servers in tables and pictures."""

from __future__ import annotations

_FAMILIES = {"mysql": "MySQL", "mariadb": "MariaDB"}


def server_label(name: str, version: str) -> str:
    """Return a catalogue server's family and version, as in `MySQL 8.0.15`, or the name of a user's own server."""
    family, _, of_catalogue = name.partition("-")
    number = version.partition("-")[0]
    if family in _FAMILIES and of_catalogue and number.startswith(of_catalogue):
        return f"{_FAMILIES[family]} {number}"
    return f"{name} ({number})"
