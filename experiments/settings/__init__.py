"""Effects of settings on a load and on its recovery, each changed alone."""
