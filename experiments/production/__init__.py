"""Recovery times after crashes at random times of a load under production settings."""
