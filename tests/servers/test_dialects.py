"""Servers by the names that people give them."""

from __future__ import annotations

import pytest

from redolab.errors import InvalidInput
from redolab.servers.dialects import dialect_named, is_server_process


@pytest.mark.parametrize(
    ("name", "family", "version"),
    [
        ("mysql-8.4.3", "mysql", "8.4.3"),
        ("mysql-9", "mysql", "9.0.0"),
        ("percona-8.0", "mysql", "8.0.0"),
        ("Percona 8.0.36", "mysql", "8.0.36"),
        ("percona-8.0.36-28", "mysql", "8.0.36"),
        ("mariadb-11.8", "mariadb", "11.8.0"),
        ("MariaDB10.6.21", "mariadb", "10.6.21"),
    ],
)
def test_a_product_and_a_version_name_a_server(name: str, family: str, version: str) -> None:
    dialect = dialect_named(name)
    assert (dialect.family, str(dialect.version)) == (family, version)


@pytest.mark.parametrize("name", ["mysql", "mysql-", "oracle-19.1", "my-mysql-8.0"])
def test_anything_else_names_no_server(name: str) -> None:
    with pytest.raises(InvalidInput):
        dialect_named(name)


def test_processes_that_belong_to_a_server_are_none() -> None:
    names = ["mysqld", "mysqld-debug", "mariadbd", "mysqld_safe", "mysqld_exporter", "mariadbd-safe"]
    assert list(filter(is_server_process, names)) == names[:3]
