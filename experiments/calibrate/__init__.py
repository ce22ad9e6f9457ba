"""Recovery times on this machine after a few small crashes, for predictions of large logs here."""
