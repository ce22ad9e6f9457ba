"""Slow query logs to classes of queries: fingerprints as pt-query-digest makes them, exact percentiles, flat memory."""

from redolab.querylogs.digest.classes import Amount, Digest, Distribution, Example, QueryClass, ReadFile, Skipped
from redolab.querylogs.digest.digesting import digest

__all__ = ["Amount", "Digest", "Distribution", "Example", "QueryClass", "ReadFile", "Skipped", "digest"]
