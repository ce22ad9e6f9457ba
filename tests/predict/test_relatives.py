"""Which measured server is likest another one."""

from __future__ import annotations

import pytest

from redolab.predict.server_names import nearest_first
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import GetsStuck, Version, dialect_of


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


@pytest.mark.parametrize(
    ("version", "gets_stuck"),
    [
        ("5.7.22", GetsStuck.NO),
        ("8.0.36", GetsStuck.NO),
        ("8.4.8", GetsStuck.NO),
        ("9.0.1", GetsStuck.NOT_KNOWN),
        ("9.7.2", GetsStuck.YES),
        ("9.8.0", GetsStuck.NOT_KNOWN),
    ],
)
def test_versions_that_recover_by_the_code_of_9_7_are_no_relatives_of_8_4(version: str, gets_stuck: GetsStuck) -> None:
    dialect, of_9_7 = dialect_of("mysql", Version.parse(version)), dialect_of("mysql", Version(9, 7, 4))
    assert dialect.gets_stuck is gets_stuck
    assert (dialect.recovery_code == of_9_7.recovery_code) == (gets_stuck is not GetsStuck.NO)


@pytest.mark.parametrize(
    ("family", "version", "by_cpus"),
    [
        ("mysql", "8.0.36", {2: 4, 32: 4}),
        ("mysql", "8.4.0", {2: 4, 8: 4, 16: 8, 32: 16, 256: 64}),
        ("mysql", "9.7.4", {2: 4, 8: 4, 16: 8, 32: 16, 256: 64}),
        ("mariadb", "11.8.6", {2: 4, 32: 4}),
    ],
)
def test_the_default_of_read_threads_grows_with_the_cpus_since_8_4(
    family: str, version: str, by_cpus: dict[int, int]
) -> None:
    dialect = dialect_of(family, Version.parse(version))
    assert {cpus: dialect.default_read_threads(cpus) for cpus in by_cpus} == by_cpus
