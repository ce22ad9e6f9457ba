"""Distance of Innodb_os_log_written from the growth of the LSN, its meaning, and the bytes that reach the disk."""
