"""Every experiment that crashes servers under load takes the kind of crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.disks.attaching import check_can_be_cut
from redolab.disks.catalogue import storage_profile
from redolab.disks.profiles import HOME
from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.machine.processes import is_root
from redolab.runs.factors import read_factors
from redolab.runs.loading import load_experiment

pytestmark = pytest.mark.server

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
    factors = read_factors(experiment.factors_type, {**_SMALL, **_OF[name], "crash": "disk-power"})
    groups = experiment.plan_from(factors, lab).groups
    assert groups
    assert {group.spec.crash for group in groups} == {"disk-power"}
    with pytest.raises(InvalidInput):
        read_factors(experiment.factors_type, {**_SMALL, "crash": "freeze"})


@pytest.mark.parametrize("storage", ["folder", "tmpfs"])
def test_a_power_cut_of_a_disk_that_cannot_lie_there_is_refused(lab: Lab, tmp_path: Path, storage: str) -> None:
    asked = str(tmp_path) if storage == "folder" else storage
    factors = {**_SMALL, "log_size": "64M,128M", "storage": asked, "crash": "disk-power"}
    experiment = load_experiment("throughput")
    plan = experiment.plan_from(read_factors(experiment.factors_type, factors), lab)
    with pytest.raises(InvalidInput) as refused:
        experiment.bench(lab, plan).check(range(len(plan.steps)))
    assert refused.value.problem.endswith(asked)


@pytest.mark.parametrize("storage", [HOME, "hdd"])
def test_the_power_of_the_labs_own_disk_and_of_a_modelled_one_can_be_cut(storage: str) -> None:
    if not is_root():
        pytest.skip("only root may mount")
    check_can_be_cut(storage, storage_profile(storage))
