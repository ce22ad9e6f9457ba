"""Pages of results that are made from inflation runs: a module and a template each."""
