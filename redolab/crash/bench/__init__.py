"""Crashes and recoveries as steps of a plan: the only place where making and recovering meet."""
