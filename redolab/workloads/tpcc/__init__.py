"""TPC-C: its tables, its consistency conditions, and the programs that load it and run its transactions."""
