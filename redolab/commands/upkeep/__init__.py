"""Upkeep of the lab on this machine: examination, lists, additions and removals."""
