"""The page of production, made from runs of loads that were crashed at random moments."""
