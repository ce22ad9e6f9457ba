"""redolab: crash real MySQL-family servers on purpose, time their recovery, size their redo logs."""
