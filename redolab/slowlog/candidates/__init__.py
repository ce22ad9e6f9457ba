"""Optimisation candidates among classes of queries: rows examined, against the rows that the answer is made of."""
