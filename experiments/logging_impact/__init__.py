"""Cost of logging queries in throughput and latency, log by log."""
