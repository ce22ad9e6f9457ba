"""Options on fields become factors, and factors the cells of a plan."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.inflation.experiment import Inflation
from experiments.rotation.experiment import Rotation
from redolab.errors import InvalidInput
from redolab.runs.factors import factors_of, read_factors


def read(experiment: Any, **given: str) -> Any:
    return read_factors(experiment.factors_type, given)


def test_a_field_of_a_group_or_step_is_a_list_and_one_of_the_conditions_a_value() -> None:
    names = [each.name for each in factors_of(Inflation.factors_type)]
    assert names[:9] == [
        "server", "trx_commit", "binary_log", "threads", "row_bytes", "rows", "seconds", "log_size", "cross",
    ]  # fmt: skip
    asked = read(Inflation, server="mysql-9", threads="1, 4,1", seconds="2")
    assert (asked.server, asked.threads, asked.seconds, asked.log_size) == (("mysql-9",), (1, 4), 2, 512 << 20)
    with pytest.raises(InvalidInput) as refused:
        read(Inflation, seconds="1,2")
    assert refused.value.problem.startswith("--seconds (SECONDS=)")


def test_what_a_run_keeps_of_its_factors_is_read_again() -> None:
    asked = read(Rotation, method="rename-hup,rm-flush", held="on", log_file="20M")
    assert read_factors(Rotation.factors_type, asked.in_words()) == asked


def test_every_combination_that_exists_is_a_cell() -> None:
    asked = read(Rotation, server="mysql-9,mysql-5.7", method="rename-flush,rename-usr1", held="off", storage="local")
    cells = Rotation.cells(asked)
    assert {(group.server, group.file_system): len(steps) for group, steps in cells.items()} == {
        ("mysql-9", "xfs"): 2, ("mysql-9", "ext4"): 2, ("mysql-5.7", "xfs"): 1, ("mysql-5.7", "ext4"): 1,
    }  # fmt: skip
