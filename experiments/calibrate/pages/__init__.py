"""The page of the model of recovery times, made from runs of recoveries."""
