"""Which classes of queries are worth optimising: rows examined, against the rows that their answer is made of."""
