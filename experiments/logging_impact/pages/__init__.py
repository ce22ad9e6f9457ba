"""Pages of results that are made from runs of what logging costs: a module and a template each."""
