"""What a crash left, and what it was made from: kept, hashed, listed, put on a storage."""
