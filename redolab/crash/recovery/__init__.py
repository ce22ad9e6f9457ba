"""Recoveries: a server is started on a copy of a state, watched to its outcome, and its clients come back."""
