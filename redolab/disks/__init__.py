"""Storage profiles that a data directory can lie on, the entries of `provision/storage.toml`, and their attachment."""
