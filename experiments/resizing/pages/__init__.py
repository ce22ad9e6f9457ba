"""The page of the redo log's size changed under load."""
