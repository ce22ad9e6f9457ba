"""Where servers come from: one file a kind of source, told apart in the catalogue by `kind`."""

from __future__ import annotations

from redolab.servers.sources.debian import DebianSource

Source = DebianSource
"""Any kind of source. Each has `fetch(host, root, work)`, which fills the root folder, using `work` for what is in between."""
