"""Power cuts: recordings, states, the ledger."""
