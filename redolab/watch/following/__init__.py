"""Progress of a running recovery, from its log and from the machine's view of its server."""
