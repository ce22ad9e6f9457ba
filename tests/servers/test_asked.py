"""Settings that a person asks of a recovering server: read, refused, and given to it."""

from __future__ import annotations

import pytest

from redolab.errors import InvalidInput
from redolab.servers.asked import asked_settings, settings_from


def test_settings_are_read_with_plus_between_those_that_go_together() -> None:
    text = asked_settings("innodb-read-io-threads=16 + innodb_use_native_aio=0")
    assert text == "innodb_read_io_threads=16+innodb_use_native_aio=0"
    assert [(setting.name, setting.value) for setting in settings_from(text)] == [
        ("innodb_read_io_threads", "16"),
        ("innodb_use_native_aio", "0"),
    ]
    assert [setting.value for setting in settings_from(asked_settings("skip_innodb_doublewrite"))] == [None]


def test_none_is_the_labs_own_settings() -> None:
    assert asked_settings("none") == ""
    assert settings_from("") == ()


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
