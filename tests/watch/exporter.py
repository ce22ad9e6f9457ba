"""What `redolab export` answers to a scrape."""

from __future__ import annotations

import time
import urllib.request
from typing import TypeAlias

from prometheus_client.parser import text_string_to_metric_families

from tests.counters.live.watched import SECRET

Scraped: TypeAlias = dict[tuple[str, tuple[tuple[str, str], ...]], float]
"""Name and labels → value."""
PORT = 19400
_URL = f"http://127.0.0.1:{PORT}/metrics"


def scraped() -> Scraped:
    """Name and labels → value."""
    with urllib.request.urlopen(_URL, timeout=10) as answer:
        text = answer.read().decode()
    assert SECRET not in text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def first_scrape() -> Scraped:
    deadline = time.monotonic() + 20
    while True:
        try:
            return scraped()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
