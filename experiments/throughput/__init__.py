"""What throughput does a larger redo log gain, and what does it cost in recovery?"""
