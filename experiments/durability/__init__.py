"""Acknowledged commits that a power cut loses, setting by setting."""
