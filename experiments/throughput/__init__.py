"""Throughput that a larger redo log gains, and the recovery time that it costs."""
