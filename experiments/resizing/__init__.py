"""Gain of a larger redo log within one load, and what clients meet while a running server gets it."""
