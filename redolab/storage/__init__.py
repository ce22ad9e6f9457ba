"""On what: the storage profiles a data directory can lie on, the entries of `provision/storage.toml`.

One file a kind of profile, told apart in the catalogue by `kind`.
"""

from __future__ import annotations

from redolab.storage.folder import FolderStorage
from redolab.storage.modelled import ModelledDisk
from redolab.storage.tmpfs import TmpfsStorage

StorageProfile = FolderStorage | TmpfsStorage | ModelledDisk
"""Any kind of profile."""
