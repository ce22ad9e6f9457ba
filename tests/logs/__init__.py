"""Logs of servers that the tests read."""

from __future__ import annotations

from pathlib import Path

LOGS = Path(__file__).parent
REAL, FORMS = LOGS / "real", LOGS / "forms"
ERROR_LOGS = sorted(log for folder in (REAL, FORMS) for log in folder.rglob("*.log"))
"""Error logs, each with the recoveries in it as JSON beside it; slow query logs are in `slow/`."""


def lines_of(log: Path) -> list[str]:
    """Return the lines of a log."""
    return log.read_bytes().decode("utf-8", "replace").split("\n")


def form(name: str) -> list[str]:
    """Return the lines of a log of `forms/`."""
    return (FORMS / f"{name}.log").read_bytes().decode().splitlines()
