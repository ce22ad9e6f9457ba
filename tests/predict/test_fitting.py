"""What a calibration is learned from: recoveries on one class of machines, and what is left out is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from redolab.errors import InvalidInput
from redolab.machine.facts import Machine
from redolab.predict.fitting import FittedRuns, fit_runs
from redolab.predict.published import published_beside_ours
from redolab.predict.recovery_time.held_out import OF_MACHINES
from redolab.results.alike import keyed_recoveries
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run


def of_model(*names: str) -> list[Run]:
    return [run for run in measured_runs("model") if run.name.startswith(names)]


@pytest.fixture(scope="module")
def both() -> list[Run]:
    """A calibration of an AMD machine, and more recoveries of the same servers on an Intel machine."""
    return of_model("20261122-155534", "20261123-004500")


def test_what_may_have_been_disturbed_teaches_only_where_little_else_does_and_is_never_judged() -> None:
    unrecorded, recorded = of_model("20261122-155534"), of_model("20261125-050149")
    alone = fit_runs(unrecorded)
    assert alone.observations
    assert not alone.judged
    both = fit_runs([*unrecorded, *recorded])
    # Four crashes of bulk updates have a record, two of short transactions.
    assert {each.run for each in both.observations if each.subject == ("mariadb-10.11", "bulk-update")} == {
        recorded[0].name
    }
    assert {each.run for each in both.observations if each.subject == ("mariadb-10.11", "oltp_write_only")} == {
        unrecorded[0].name,
        recorded[0].name,
    }
    assert {each.observation.run for each in both.judged} == {recorded[0].name}
    (of_before,) = [each for each in both.left_out if each.what.startswith("before")]
    assert of_before.runs == (unrecorded[0].name,)


def _cpus(machine: Machine) -> str:
    return machine.cpu.split()[0]


def test_two_machines_are_not_pooled_and_the_other_is_named(both: list[Run]) -> None:
    found = fit_runs(both)
    of_intel = [each for each in keyed_recoveries(both) if each.key.machine.cpu.startswith("Intel")]
    assert len(of_intel) == 64
    assert _cpus(found.calibration.machine) == "Intel(R)"
    assert found.calibration.runs == ("20261123-004500-recovery",)
    assert {each.crash_name for each in found.observations} == {each.image.name for each in of_intel}
    (left_out,) = found.left_out
    assert (left_out.recoveries, left_out.runs) == (20, (both[0].name,))


def test_the_fio_figures_are_those_of_the_machine(both: list[Run]) -> None:
    alone, beside = fit_runs(both[:1]), fit_runs(both, "epyc")
    assert beside.calibration.storages == alone.calibration.storages
    assert beside.calibration.servers == alone.calibration.servers
    assert _cpus(beside.calibration.machine) == "AMD"
    assert beside.left_out[0].recoveries == 64


def test_each_machine_is_predicted_by_what_the_others_taught() -> None:
    (third,), (slower,) = (
        [run for run in measured_runs(folder) if run.name.startswith(name)]
        for folder, name in (("host-c", "20261127-104848"), ("host-b", "20261126-062937"))
    )
    together = fit_runs([third, slower], machines={"the third": [third], "the slower": [slower]})
    alone = fit_runs([third], machines={"the third": [third], "the slower": [slower]})
    assert _machines(together) == {"the third", "the slower"}
    assert _machines(alone) == {"the slower"}
    of_slower = [each for each in together.judged if each.machine.startswith("the slower")]
    expected = [each.predicted for each in alone.judged if each.machine]
    assert [each.predicted for each in of_slower] == pytest.approx(expected)
    assert {each.observation.run for each in of_slower} == {slower.name}


def test_a_machine_of_another_class_is_predicted_and_teaches_no_rate() -> None:
    (third,), intel = (
        [run for run in measured_runs(folder) if run.name.startswith(name)]
        for folder, name in (("host-c", "20261127-104848"), ("host-d", "20261127-200738"))
    )
    alone = fit_runs([third], machines={"the third": [third]})
    beside = fit_runs([third], machines={"the third": [third], "the Intel": intel})
    assert _machines(alone) == set()
    assert _machines(beside) == {"the Intel"}
    assert {server: each.workloads for server, each in beside.calibration.servers.items()} == {
        server: each.workloads for server, each in alone.calibration.servers.items()
    }
    (other,) = beside.calibration.other_machines
    assert "Intel(R) Xeon(R)" in other.machine
    assert set(other.times) == set(OF_MACHINES)


def _machines(found: FittedRuns) -> set[str]:
    return {each.machine.partition(" with ")[0] for each in found.judged if each.held_out in OF_MACHINES}


def test_a_machine_that_is_not_there_or_not_told_apart_is_refused(both: list[Run]) -> None:
    for machine in ("SPARC", "2 cores"):
        with pytest.raises(InvalidInput):
            fit_runs(both, machine)


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
    of_pool = [row for row in ours if row[3] == "local" and row[5] == "2G"]
    assert len(of_pool) == 2
