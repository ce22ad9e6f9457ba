"""What is on this machine for the lab: looked at, listed, added and removed."""
