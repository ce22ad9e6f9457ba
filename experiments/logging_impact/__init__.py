"""What does logging queries cost in throughput and latency, log by log?"""
