"""Catalogue of servers: the project's own, and those that the user added.

Experiments name servers in their options, and code that reads runs imports this module. Modules that make servers are
imported only when needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redolab.catalogue import Catalogue
from redolab.project import PROJECT

if TYPE_CHECKING:
    from redolab.servers.install import CatalogueEntry


def server_catalogue() -> Catalogue[CatalogueEntry]:
    """Return the servers of the lab and of the user, by name."""
    from redolab.servers.install import CatalogueEntry
    from redolab.servers.own import own_servers

    ours = Catalogue.read("server", PROJECT.provision / "servers.toml", CatalogueEntry)
    return Catalogue(ours.noun, {**dict(ours.items()), **own_servers()})


def expected_versions() -> dict[str, str]:
    """Return the version that the catalogue expects of each server, by name."""
    return {name: entry.version for name, entry in server_catalogue().items()}


def server_names(text: str) -> tuple[str, ...]:
    """Parse names of servers, separated by commas, or `all`. Raises `InvalidInput`."""
    catalogue = server_catalogue()
    if text == "all":
        return tuple(catalogue.names())
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        catalogue.get(name)
    return names
