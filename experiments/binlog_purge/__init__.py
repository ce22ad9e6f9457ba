"""Does removing binary logs stall writers, and does it depend on the size of the files?"""
