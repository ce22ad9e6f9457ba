"""Machines that are not this one: the lab is copied there, runs there as it does here, and its runs come back."""
