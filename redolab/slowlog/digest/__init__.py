"""Slow query logs to classes of queries: fingerprints as pt-query-digest makes them, exact percentiles, flat memory."""

from redolab.slowlog.digest.classes import Amount, Digest, Distribution, Example, QueryClass, ReadFile, Skipped
from redolab.slowlog.digest.digesting import digest

__all__ = ["Amount", "Digest", "Distribution", "Example", "QueryClass", "ReadFile", "Skipped", "digest"]
