"""What every server of the catalogue must do, for real: a new entry is tested by being one."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from experiments.recovery.report import configurations, recoveries_table
from experiments.settings.changes import SETTINGS, changes
from experiments.settings.experiment import Factors
from redolab.crash.dataset import copy_dataset, make_dataset
from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import FILL_LOG, SAMPLES
from redolab.crash.records.recovery import Outcome, RecoveryTrial
from redolab.crash.records.verdict import Judgement
from redolab.crash.recovery.recovery import recover
from redolab.crash.recovery.task import Recorder, RecoveryTask
from redolab.disks.place import Place
from redolab.errorlog import timelines
from redolab.errorlog.files import read_log
from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.machine import files, processes
from redolab.machine.processes import Command
from redolab.results.comparable import comparable
from redolab.results.recoveries import Recovery
from redolab.results.series import read_samples
from redolab.runs.schema import Ruling, TrialRecord
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import SLOW_LOG, Dialect, InstanceRequest, Purpose, Setting
from redolab.servers.instance import DATA, Instance
from redolab.units import MIB
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.data import SysbenchTables
from tests.examples import keyed
from tests.small_crash import WORKLOAD, small_crash, small_dataset
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.server


@pytest.fixture
def images(lab: Lab, home: Path) -> Iterator[ImageStore]:
    """The images, without those that the test makes."""
    store = ImageStore(home)
    before = {image.name for image in store.all()}
    yield store
    for image in store.all():
        if image.name not in before:
            store.remove(image.name, lab.journal)


@pytest.mark.parametrize("name", mostly_thorough(server_catalogue().names()))
def test_a_server_is_initialised_filled_killed_recovered_and_checked(
    name: str, lab: Lab, home: Path, images: ImageStore, tmp_path: Path
) -> None:
    server = lab.server(name)
    assert server.dialect.family == server_catalogue().get(name).family
    # Of its series: a suite moves on from the very version that is expected.
    assert server.version.startswith(name.partition("-")[2])

    image = small_crash(lab, server)
    # The dataset was shut down cleanly, so that the server that was filled had nothing to recover. (5.5, given new log
    # files, says that it was not, and finds nothing.)
    assert [start for start in timelines(read_log(images.folder(image.name) / FILL_LOG)) if start.batches] == []

    samples = read_samples(images.folder(image.name) / SAMPLES)
    last = image.last_sample
    assert samples[-1] == last
    assert last.lsn is not None
    assert last.checkpoint_lsn is not None
    assert last.checkpoint_age == pytest.approx(last.lsn - last.checkpoint_lsn, abs=8 * MIB)
    # Dirtied by the fill: past the sync flush point a server may have written most of them, and not yet its checkpoint.
    assert last.dirty_pages
    assert last.dirty_pages + (last.pages_written or 0) > 100
    # The target was reached, or came near before the server flushed.
    assert (last.checkpoint_age or 0) > 0.8 * image.capacity.sync_flush_point
    for reported, formula in (
        (last.sync_flush_point, image.capacity.sync_flush_point),
        (last.hard_limit, image.capacity.hard_limit),
    ):
        assert reported in (None, formula)

    task = RecoveryTask(image=image, server=server, pool=64 * MIB, repeat=1)
    place = Place(name="local", folder=home)
    trials: list[RecoveryTrial] = []
    judgements: list[Judgement] = []

    def recorder(log: str) -> Recorder:
        return Recorder(
            log=tmp_path / log,
            instance=lambda used: used.variables["version"],
            evidence=tmp_path / "wrong",
            trial=trials.append,
            warm=lambda _: None,
            judgement=judgements.append,
        )

    recover(lab, task, images, place, recorder("error.log"))
    (trial,) = trials
    assert trial.outcome is Outcome.READY
    assert trial.timeline is not None
    assert trial.seconds_to_ready is not None
    assert trial.first_connection is not None
    assert trial.first_write is not None
    # No healthy recovery is quiet for long: what counts as stuck is far from it.
    assert trial.longest_quiet is not None
    assert trial.longest_quiet < 30
    (judgement,) = judgements
    assert judgement.ruling is Ruling.RIGHT, judgement
    assert judgement.checks
    assert trial.timeline.family == server.dialect.family
    # The server ran on between the last sample and the signal: it wrote, and may have moved its checkpoint on.
    assert trial.timeline.end_lsn is not None
    assert (last.flushed_lsn or 0) <= trial.timeline.end_lsn <= last.checkpoint_lsn + 2 * image.spec.instance.log_size
    if trial.timeline.checkpoint_lsn is not None:  # MariaDB 10.2 does not log it.
        assert last.checkpoint_lsn <= trial.timeline.checkpoint_lsn <= last.lsn
    assert trial.timeline.seconds_to_ready is not None
    assert 0 < trial.timeline.seconds_to_ready <= trial.seconds_to_ready + 1.0
    assert 0 < trial.first_connection <= trial.first_write
    assert files.hash_folder(images.data(image)) == image.hashes
    # What it was becomes a row of the table, whatever variables and counters the version has.
    frame = comparable([keyed(Recovery(TrialRecord(position=0, trial=trial), image))])
    (row,) = configurations(frame)
    assert recoveries_table([row], frame, {}).cells
    assert (row["undo_pages"] or 0) >= 0

    foreign = msgspec.structs.replace(image, redo_format="another format")
    with pytest.raises(InvalidInput):
        recover(lab, replace(task, image=foreign), images, place, recorder("refused.log"))
    assert not (tmp_path / "refused.log").exists()


def test_servers_of_different_formats_do_not_share_images() -> None:
    formats = {name: server_catalogue().get(name).dialect().redo_format for name in server_catalogue().names()}
    assert formats["mysql-5.6"] != formats["mysql-5.7"] != formats["mysql-8.0"] != formats["mysql-9"]
    assert formats["mariadb-10.2"] != formats["mariadb-10.5"] != formats["mariadb-10.11"]
    assert formats["mariadb-10.11"] == formats["mariadb-11.4"] == formats["mariadb-11.8"]
    assert not {formats[name] for name in formats if name.startswith("mysql")} & {
        formats[name] for name in formats if name.startswith("mariadb")
    }


LARGER_LOG = 64 * MIB

CLIENT = """
import sys, pymysql
host, port, user = sys.argv[1:]
with pymysql.connect(host=host, port=int(port), user=user) as connection, connection.cursor() as cursor:
    cursor.execute("SELECT COUNT(*) FROM redolab.sbtest1")
    print(cursor.fetchone()[0], "rows over TCP")
"""


def changed_by_the_settings_experiment(dialect: Dialect) -> tuple[Setting, ...]:
    """All of its levels at once: a server that refused one would end a run of hours."""
    loads = [change.load for change in changes(tuple(SETTINGS), Factors().baselines(1), dialect)]
    times = Counter(setting for load in loads for setting in load.overrides)
    rarest_last = sorted(times, key=lambda setting: -times[setting])
    return tuple({setting.name: setting for setting in rarest_last}.values())


@pytest.mark.parametrize("name", mostly_thorough(server_catalogue().names()))
def test_a_server_as_in_production_is_reached_over_tcp_by_those_alone_who_join_its_network(
    name: str, lab: Lab, home: Path, tmp_path: Path
) -> None:
    server, workload = lab.server(name), workload_catalogue().get(WORKLOAD)
    dataset = make_dataset(lab, server, workload, small_dataset(server, workload))
    folder = home / "instances/production"
    request = InstanceRequest(
        purpose=Purpose.PRODUCTION,
        log_size=32 * MIB,
        buffer_pool=64 * MIB,
        binary_log=True,
        network=True,
        slow_log=True,
        overrides=changed_by_the_settings_experiment(server.dialect),
    )
    with lab.journal.making(folder, "the instance of a test"):
        # It was loaded with a log of another size: what the steps for the version move has to go.
        steps = server.dialect.resizing(request.log_size).steps
        moved = [log for log in ("ib_logfile0", "ib_logfile1") if any(log in step for step in steps)]
        assert moved == list(server.dialect.old_log_files)
        copy_dataset(server, dataset.folder / DATA, folder)
        with Instance.start(server, folder, request, tmp_path / "error.log") as instance:
            instance.wait_ready(120)
            address = instance.open_to_network()
            client = Command([sys.executable, "-c", CLIENT, address.host, str(address.port), address.user])
            said = processes.run(instance.in_its_network(client)).out
            assert isinstance(dataset.spec.data, SysbenchTables)
            assert said == f"{dataset.spec.data.rows} rows over TCP\n"
            # Outside its namespace nobody finds it.
            assert processes.run(client, check=False).status != 0
            with instance.connections.connect() as connection:
                used = instance.used(connection)
            assert server.dialect.log_size(used.variables) == request.log_size
            assert used.variables["log_bin"] == "ON"
            written = {setting.name: setting.value for setting in used.settings}
            assert used.variables["sync_binlog"] == written["sync_binlog"]
            resizing = server.dialect.resizing(LARGER_LOG)
            if resizing.statement is not None:
                with instance.connections.connect() as connection:
                    connection.cursor().execute(resizing.statement)
                    assert server.dialect.log_size(instance.used(connection).variables) == LARGER_LOG
            instance.shut_down()
            assert "redolab.sbtest1" in (folder / SLOW_LOG).read_text(errors="replace")
