"""Servers of the user while they run: how they stand, and how long a recovery would take if they crashed now."""
