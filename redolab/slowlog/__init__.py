"""Query logs of servers that are not the lab's: captured, rotated, read, and what in them is worth optimising."""
