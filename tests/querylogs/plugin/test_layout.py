"""Where a server keeps what is logged, as its machine code says it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolab.errors import InvalidInput, LabError
from redolab.lab import Lab
from redolab.querylogs.plugin.building import built_slow_log_plugin
from redolab.querylogs.plugin.layout import ServerLayout, as_header, layout_of, read_layout
from redolab.querylogs.plugin.packaged import server_audit_plugin
from redolab.servers.dialects import Version, dialect_of
from redolab.servers.install import InstalledServer


@pytest.fixture
def layout(mariadb: InstalledServer) -> ServerLayout:
    return read_layout(mariadb.system / mariadb.program.relative_to("/"))


def test_members_lie_apart_and_in_order(layout: ServerLayout) -> None:
    places = [getattr(layout, name) for name in layout.__slots__ if name != "functions"]
    assert len(set(places)) == len(places)
    assert layout.start_second < layout.start_utime < layout.utime_after_lock < layout.utime_after_query
    assert layout.rows_examined - layout.rows_sent in {8, 16}
    header = as_header(layout, "10.11.0")
    assert f"ROWS_SENT = {layout.rows_sent:#x};" in header
    assert '"thd_start_utime"' in header


def test_code_that_is_not_as_expected_is_an_error_that_says_what(layout: ServerLayout) -> None:
    start, prints, decides, write = layout.functions
    no_call = replace(write, instructions=[each.replace("my_b_printf", "other") for each in write.instructions])
    with pytest.raises(LabError, match="the call that writes a record"):
        layout_of([start, prints, decides, no_call])
    other_times = replace(prints, instructions=["ret"])
    with pytest.raises(LabError, match="the times of a statement"):
        layout_of([start, other_times, decides, write])
    no_start = replace(start, instructions=["ret"])
    with pytest.raises(LabError, match="the start of a statement"):
        layout_of([no_start, prints, decides, write])
    fewer = [each for each in write.instructions if f"{layout.rows_examined:#x}(" not in each]
    with pytest.raises(LabError, match="the rows sent, examined and affected"):
        layout_of([start, prints, decides, replace(write, instructions=fewer)])


def test_a_server_that_is_not_mariadb_has_none(lab: Lab, mariadb: InstalledServer) -> None:
    mysql = replace(mariadb, name="mysql-5.7", dialect=dialect_of("mysql", Version(5, 7, 22)))
    with pytest.raises(InvalidInput, match=r"is for MariaDB, and mysql-5\.7 is of the family mysql"):
        built_slow_log_plugin(lab, mysql)
    with pytest.raises(InvalidInput, match="is not from MariaDB's packages"):
        server_audit_plugin(lab, mysql)
