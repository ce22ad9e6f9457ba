"""Runs of earlier formats, converted as JSON to the next when they are read. What was kept is never rewritten.

Format 1: a run has one machine and one command; a trial stands by itself, with all its server's settings and variables;
only recoveries have a plan, of `crashes` and `recoveries`; the phase `accept` was called `ready`.
"""

from __future__ import annotations

from typing import Any

import msgspec
import xxhash

_OF_A_SESSION = ("began", "commit", "command", "tools", "machine", "seconds")


def content_hash(content: Any) -> str:
    """Under which something is kept once."""
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode(content))


def record_from_1(record: dict[str, Any]) -> dict[str, Any]:
    """`run.json` of format 1 as format 2."""
    session = {name: record[name] for name in _OF_A_SESSION if name in record}
    kept = {name: value for name, value in record.items() if name not in _OF_A_SESSION}
    return {**kept, "format": 2, "sessions": [session]}


def trial_from_1(trial: dict[str, Any]) -> dict[str, Any]:
    """A line of `trials.jsonl` of format 1 as format 2."""
    converted = dict(trial)
    took = converted.pop("took", None)
    if "variables" in converted:
        converted["instance"] = content_hash(instance_from_1(trial))
        converted.pop("variables")
        converted.pop("settings")
    if "cpu_seconds" in converted:
        seconds = converted.pop("cpu_seconds")
        converted["cpu"] = None if seconds is None else {"seconds": seconds, "busiest_thread": None, "cores": None}
    if "timeline" in converted:
        phases = [
            {**phase, "phase": "accept"} if phase["phase"] == "ready" else phase
            for phase in converted["timeline"]["phases"]
        ]
        converted["timeline"] = {**converted["timeline"], "phases": phases}
    return {"place": None, "took": took, "trial": converted}


def instance_from_1(trial: dict[str, Any]) -> dict[str, Any]:
    """The settings and variables that a trial of format 1 has in it."""
    return {"settings": trial["settings"], "variables": trial["variables"]}
