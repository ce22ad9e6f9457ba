"""Pages of results that are made from throughput runs: a module and a template each."""
