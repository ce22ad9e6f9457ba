"""From what was measured to answers: calibrations, predictions of recoveries, and which size of redo log to set."""
