"""Which of many tests of one thing run each time: the others are for `make test-thorough`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

ONE_OF_EACH_FAMILY = frozenset({"mysql-9", "mariadb-11.8"})
USED_EACH_TIME = ONE_OF_EACH_FAMILY | {"mysql-5.5", "mysql-5.6", "mysql-5.7", "mariadb-10.5", "mariadb-10.11"}
"""The servers that tests start which are not `thorough`."""


def mostly_thorough(values: Iterable[Any], each_time: Collection[Any] = ONE_OF_EACH_FAMILY) -> list[Any]:
    """Values for `parametrize`, of which only those in `each_time` are not marked `thorough`."""
    return [value if value in each_time else pytest.param(value, marks=pytest.mark.thorough) for value in values]
