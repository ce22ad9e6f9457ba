"""Datasets, loads and crashes: what makes a state."""
