"""Sources of servers, named by `kind` in the catalogue.

Each kind has `about`, a description in words; `tools`, the programs it needs on this machine; `check_here()`, which
raises `LabError` if this machine's distribution cannot have it; and `fetch(tools, root, work)`, which fills the root
folder, keeps intermediate files in `work`, and raises `LabError`.
"""

from __future__ import annotations

from redolab.servers.sources.archive import ArchiveSource
from redolab.servers.sources.debian import DebianSource
from redolab.servers.sources.folder import FolderSource
from redolab.servers.sources.registries import MavenSource, NpmSource

Source = DebianSource | MavenSource | NpmSource | ArchiveSource | FolderSource
"""Source of any kind."""
