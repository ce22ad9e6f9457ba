"""Every experiment that crashes servers under load takes the kind of crash."""

from __future__ import annotations

import pytest

from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.runs.experiment import load_experiment
from redolab.runs.factors import read_factors

_SMALL = {"server": "mariadb-10.11", "seed": "1"}
_OF = {
    "anatomy": {"log_size": "128M", "vary": "pool,age", "crashes": "2", "repeat": "1"},
    "settings": {"vary": "innodb_flush_method", "repeat": "1"},
    "survey": {"log_size": "64M", "crashes": "2", "pools": "1"},
    "throughput": {"log_size": "64M,128M"},
}


@pytest.mark.parametrize("name", _OF)
def test_crashes_are_planned_of_the_kind_asked_for(lab: Lab, name: str) -> None:
    experiment = load_experiment(name)
    factors = read_factors(experiment.factors(), {**_SMALL, **_OF[name], "crash": "disk-power"})
    groups = experiment.plan(factors, lab).groups
    assert groups
    assert {group.spec.crash for group in groups} == {"disk-power"}
    with pytest.raises(InvalidInput, match="kind of crash"):
        read_factors(experiment.factors(), {**_SMALL, "crash": "freeze"})
