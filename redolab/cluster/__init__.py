"""Many machines: Dask gives each a group of a plan at a time, and what they measured becomes one run here."""
