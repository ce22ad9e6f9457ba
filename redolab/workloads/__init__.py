"""Workloads: clients that write to an instance until they are told to stop."""
