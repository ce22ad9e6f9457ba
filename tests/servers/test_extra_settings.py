"""Settings that a person asks of a recovering server: read, refused, and given to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errors import InvalidInput
from redolab.servers.dialects import option_file
from redolab.servers.extra_settings import asked_settings, settings_from


def test_settings_are_read_with_plus_between_those_that_go_together() -> None:
    text = asked_settings("innodb-read-io-threads=16 + innodb_use_native_aio=0")
    assert text == "innodb_read_io_threads=16+innodb_use_native_aio=0"
    assert [(setting.name, setting.value) for setting in settings_from(text)] == [
        ("innodb_read_io_threads", "16"),
        ("innodb_use_native_aio", "0"),
    ]
    assert [setting.value for setting in settings_from(asked_settings("skip_innodb_doublewrite"))] == [None]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("innodb_buffer_pool_size=1G", "POOL="),
        ("innodb_redo_log_capacity=1G", "LOGSIZE="),
        ("datadir=/var/lib/mysql", "lab's own affair"),
        ("innodb_io_capacity=200\nport=3306", "write it as"),
        ("", "write it as"),
        ("a=1++b=2", "write it as"),
    ],
)
def test_what_is_no_setting_or_not_to_be_set_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        asked_settings(text)
    assert why in str(refused.value.remedy)


@pytest.mark.parametrize("text", ["sort_buffer_size=1\ninit_file=/etc/passwd", "a\nb", "a=\r1", "a=1\0"])
def test_a_plans_setting_is_one_line_of_an_option_file(text: str) -> None:
    """A plan may come with a run that was fetched from another machine."""
    with pytest.raises(InvalidInput):
        option_file(settings_from(text), Path("/instance"), Path("/usr"), Path("/usr/share"))
