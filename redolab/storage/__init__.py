"""On what: the storage profiles a data directory can lie on, the entries of `provision/storage.toml`, and how they are attached."""
