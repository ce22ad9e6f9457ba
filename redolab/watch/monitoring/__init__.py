"""Servers as a monitoring system knows them: a Prometheus, or compatible, with the metrics of mysqld_exporter."""
