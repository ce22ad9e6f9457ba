"""What decides how long a recovery takes: one baseline, and everything that could matter changed one at a time."""
