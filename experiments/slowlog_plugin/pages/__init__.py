"""Pages of results that are made from runs of the slow log plugin: a module and a template each."""
