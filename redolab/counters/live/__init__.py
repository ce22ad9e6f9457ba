"""Redo rates of servers that are not the lab's, sampled live or read from collected files."""
