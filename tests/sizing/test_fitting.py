"""What a calibration is learned from: recoveries on one class of machines, and what is left out is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from redolab.errors import InvalidInput
from redolab.machine.facts import Machine
from redolab.results.alike import keyed_recoveries
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run
from redolab.sizing.fitting import fit_runs, learned_from
from redolab.sizing.published import published_beside_ours


def of_model(*names: str) -> list[Run]:
    return [run for run in measured_runs("model") if run.name.startswith(names)]


@pytest.fixture(scope="module")
def both() -> list[Run]:
    """A calibration of an AMD machine, and more recoveries of the same servers on an Intel machine."""
    return of_model("20261122-155534", "20261123-004500")


def _cpus(machine: Machine) -> str:
    return machine.cpu.split()[0]


def test_two_machines_are_not_pooled_and_the_other_is_named(both: list[Run]) -> None:
    found = fit_runs(both)
    of_intel = [each for each in keyed_recoveries(both) if each.key.machine.cpu.startswith("Intel")]
    assert len(of_intel) == 64
    assert _cpus(found.calibration.machine) == "Intel(R)"
    assert found.calibration.runs == ("20261123-004500-recovery",)
    assert {each.crash_name for each in found.observations} == {each.image.name for each in of_intel}
    ((left_out, said),) = [(each.recoveries, each.what) for each in found.left_out]
    assert (left_out, said) == (20, "MariaDB 10.11.19 on 2 cores of AMD EPYC, 23.5G of memory, ext4, docker")
    assert any(
        said.startswith("Left out, as not alike: 20 of MariaDB 10.11.19 on 2 cores of AMD")
        for said in learned_from(found)
    )


def test_the_fio_figures_are_those_of_the_machine(both: list[Run]) -> None:
    alone, beside = fit_runs(both[:1]), fit_runs(both, "epyc")
    assert beside.calibration.storages == alone.calibration.storages
    assert beside.calibration.servers == alone.calibration.servers
    assert _cpus(beside.calibration.machine) == "AMD"
    assert beside.left_out[0].recoveries == 64


def test_a_machine_that_is_not_there_or_not_told_apart_is_refused(both: list[Run]) -> None:
    with pytest.raises(InvalidInput, match="no machine of these runs is 'SPARC'"):
        fit_runs(both, "SPARC")
    with pytest.raises(InvalidInput, match="2 of the machines of these runs are '2 cores'"):
        fit_runs(both, "2 cores")


def test_two_versions_of_a_server_are_not_pooled(both: list[Run], tmp_path: Path) -> None:
    folder = tmp_path / both[0].name
    shutil.copytree(both[0].folder, folder)
    trials = (folder / "trials.jsonl").read_text().splitlines()
    (folder / "trials.jsonl").write_text(
        "".join(
            f"{line.replace('10.11.19', '10.11.20') if position < 3 else line}\n"
            for position, line in enumerate(trials)
        )
    )
    found = fit_runs([Run(folder)])
    assert [(each.recoveries, "10.11.20" in each.what) for each in found.left_out] == [(3, True)]
    assert found.calibration.servers["mariadb-10.11"].version == "10.11.19"
    assert len(found.observations) == 17


def test_published_figures_stand_beside_ours_of_each_machine() -> None:
    runs = of_model("20261122-160336", "20261123-002312")
    table = published_beside_ours(runs)
    ours = [row for row in table.cells if row[0] == "ours"]
    assert {row[1].split()[3] for row in ours} == {"AMD", "Intel(R)"}
    of_pool = [row for row in ours if row[3] == "native" and row[5] == "2G"]
    assert len(of_pool) == 2
