"""Where servers come from: one file a kind of source, told apart in the catalogue by `kind`.

Each kind has `about`, where it is from in words, `tools`, the programs it needs on this machine, `check_here()`, which raises
`LabError` if it cannot be had on a machine of this distribution, and `fetch(tools, root, work)`, which fills the root folder,
uses `work` for what is in between, and raises `LabError`.
"""

from __future__ import annotations

from redolab.servers.sources.archive import ArchiveSource
from redolab.servers.sources.debian import DebianSource
from redolab.servers.sources.folder import FolderSource
from redolab.servers.sources.maven import MavenSource
from redolab.servers.sources.npm import NpmSource

Source = DebianSource | MavenSource | NpmSource | ArchiveSource | FolderSource
"""Any kind of source."""
