"""Slow query logs to classes of queries: fingerprints as pt-query-digest makes them, exact percentiles, flat memory."""
