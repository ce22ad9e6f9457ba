"""Data classes alone: specs, states, trials, plans. What makes them and what reads them both import these."""
