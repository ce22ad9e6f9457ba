"""Which measured server is likest another one."""

from __future__ import annotations

import pytest

from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Version, dialect_of
from redolab.sizing.relatives import nearest_first


@pytest.mark.parametrize(
    ("family", "version", "nearest"),
    [
        # Recovery was rewritten in 10.6.13, with the old format of redo (MDEV-29911).
        ("mariadb", "10.6.12", "mariadb-10.5"),
        ("mariadb", "10.6.13", "mariadb-10.11"),
        ("mariadb", "10.6.21", "mariadb-10.11"),
        ("mariadb", "10.11.8", "mariadb-10.11"),
        ("mariadb", "11.7.1", "mariadb-11.8"),
        ("mariadb", "10.3.39", "mariadb-10.2"),
        ("mysql", "8.4.3", "mysql-9"),
        ("mysql", "8.0.20", "mysql-8.0"),
        ("mysql", "5.7.44", "mysql-5.7"),
    ],
)
def test_it_recovers_by_the_same_code_else_has_the_same_redo_else_the_nearest_version(
    family: str, version: str, nearest: str
) -> None:
    known = {name: server_catalogue().get(name).dialect() for name in server_catalogue().names()}
    assert nearest_first(dialect_of(family, Version.parse(version)), known)[0] == nearest
