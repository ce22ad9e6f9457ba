"""Global variables of a user's server that are changed for a while, and put back whatever happens."""
