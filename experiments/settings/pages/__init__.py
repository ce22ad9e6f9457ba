"""Pages of results that are made from settings runs: a module and a template each."""
