"""Runs on many machines: Dask gives each machine one group of a plan at a time; the results become one run here."""
