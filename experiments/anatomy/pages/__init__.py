"""The page of results that the anatomy makes."""
