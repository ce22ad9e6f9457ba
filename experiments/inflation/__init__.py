"""How far is Innodb_os_log_written from the growth of the LSN, what does it count, and what reaches the disk?"""
