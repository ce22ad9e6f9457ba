"""Logs of servers that the tests read."""

from __future__ import annotations

from pathlib import Path

_LOGS = Path(__file__).parent
ERROR_LOGS = sorted(log for kind in ("real", "forms") for log in (_LOGS / kind).rglob("*.log"))
"""Error logs, each with the recoveries in it as JSON beside it; slow query logs are in `slow/`."""
