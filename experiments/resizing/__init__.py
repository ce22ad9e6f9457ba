"""What does a larger redo log gain by turns within one load, and what do clients meet while a running server gets it?"""
