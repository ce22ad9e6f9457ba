"""How long does crash recovery take with a redo log of this size, on each storage, with each buffer pool?"""
