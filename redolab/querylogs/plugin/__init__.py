"""MariaDB's slow query log as a plugin that takes no lock: built for a server, put where it can be loaded."""
