"""Order of measured servers by similarity to a server that was not measured."""

from __future__ import annotations

from collections.abc import Mapping

from redolab.servers.dialects import Dialect


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
