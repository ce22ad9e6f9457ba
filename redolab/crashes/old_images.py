"""Crash images of format 1, converted as JSON to format 2 when they are read. What was kept is never rewritten."""

from __future__ import annotations

from typing import Any

_AGES = {
    "flush_hard_age": "async_flush_point",
    "flush_forced_age": "sync_flush_point",
    "users_wait_age": "hard_limit",
}
"""What the three ages were called → InnoDB's terms."""


def image_from_1(image: dict[str, Any]) -> dict[str, Any]:
    """`image.json` of format 1 as format 2."""
    dataset = dict(image["spec"]["dataset"])
    tables, bytes_per_row = dataset.pop("table_count", 16), dataset.pop("bytes_per_row", 250)
    rows = max(1, dataset["size"] // bytes_per_row // tables)
    dataset["data"] = {"kind": "sysbench", "tables": tables, "rows": rows, "bytes_per_row": bytes_per_row}
    return {
        **image,
        "format": 2,
        "spec": {**image["spec"], "dataset": dataset},
        "last_sample": _in_innodbs_terms(image["last_sample"]),
        "capacity": _in_innodbs_terms(image["capacity"]),
    }


def _in_innodbs_terms(named: dict[str, Any]) -> dict[str, Any]:
    """With the ages called as InnoDB calls them."""
    return {_AGES.get(name, name): value for name, value in named.items()}
