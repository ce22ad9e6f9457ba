"""Recovery time with redo logs of given sizes, on each storage, with each buffer pool."""
