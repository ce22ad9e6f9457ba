"""A recovery that is running: how far it has come, from its log and from what the machine shows of its server."""
