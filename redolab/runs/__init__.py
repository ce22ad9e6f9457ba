"""The frame of every experiment: factors, plan, execution, resume, estimate, and the run's folder."""
