"""Servers that the lab runs: their catalogue, their installation, their instances."""
