"""Pages of results that are made from recovery runs: a module and a template each."""
