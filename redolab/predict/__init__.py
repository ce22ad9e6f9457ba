"""Calibrations, predictions of recoveries, and the redo log size to set, all from measured runs."""
