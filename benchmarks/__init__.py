"""Benchmarks: what the lab itself costs and how fast it is. README.md has the commands and the figures."""
