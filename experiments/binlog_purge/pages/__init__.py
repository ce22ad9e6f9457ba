"""The page of removing binary logs."""
