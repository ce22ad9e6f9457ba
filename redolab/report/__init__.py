"""Tables and plots of runs."""
