"""Datasets, filled logs, crashes, crash images and recoveries of copies of them."""
