"""Causes of the recovery time: one baseline, and each condition that could matter changed alone."""
