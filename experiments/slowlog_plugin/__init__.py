"""Cost of logging every statement: by the server's own slow query log, or by a plugin that takes no lock."""
