"""Servers as a monitoring system knows them: Prometheus, and what speaks its HTTP API, with the metrics of mysqld_exporter."""
