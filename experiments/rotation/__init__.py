"""Effect of rotating a slow query log on a busy server, and records that the log loses."""
