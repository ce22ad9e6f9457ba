"""The frame of every experiment: factors, plan, carrying out, resume, estimate, what a run leaves."""
