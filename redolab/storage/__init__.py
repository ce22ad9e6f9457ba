"""On what: the storage profiles a data directory can lie on, the entries of `provision/storage.toml`.

One file a kind of profile, told apart in the catalogue by `kind`.
"""

from __future__ import annotations

from redolab.storage.folder import FolderStorage

StorageProfile = FolderStorage
"""Any kind of profile. Each has `attach(host, lab_folder)`: while in it, the profile's folder can be used."""
