"""Crash images and their datasets: kept, hashed, listed, copied to a storage."""
