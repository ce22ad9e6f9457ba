"""A timed recovery: the cold start of a server on a copy of a crash state, alone on a settled disk.

The server is watched to its outcome. The measurement is on the disk when the watch ends; then the clients come back,
and then the content is checked.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pymysql

from redolab.crash.image_store import ImageStore
from redolab.crash.records.recovery import Outcome, RecoveryTrial
from redolab.crash.recovery.clients import FollowedClients, throughput_before
from redolab.crash.recovery.cold_copy import ColdCopy, cold_copy
from redolab.crash.recovery.evidence import cap_log, keep_data, keep_script, keep_stacks
from redolab.crash.recovery.judge import judge
from redolab.crash.recovery.looks import looked_at
from redolab.crash.recovery.probe import Probe
from redolab.crash.recovery.task import Recorder, RecoveryTask
from redolab.crash.recovery.watching import WatchedRecovery, watch_recovery
from redolab.disks.place import Place
from redolab.errorlog import Event
from redolab.errors import ServerFailed, WorkloadFailed
from redolab.lab import Lab
from redolab.machine.facts import DeviceCounters
from redolab.runs.schema import Ruling
from redolab.servers.instance import DATA, Instance, UsedInstance
from redolab.units import format_duration, format_size


def recover(lab: Lab, task: RecoveryTask, images: ImageStore, place: Place, recorder: Recorder) -> None:
    """Recover a copy of an image on an attached storage; whatever is learned goes to the recorder at once.

    A recovery that is stuck, given up by the server or otherwise bad is a trial too, and its evidence is kept. Raises
    `InvalidInput` if this server cannot read the image, `LabError` where the lab or the storage fails.
    """
    image, server = task.image, task.server
    throughput = throughput_before(lab, image, images) if task.warm_for else None
    title = f"recovery {task.repeat} of {image.name} on {place.name}, buffer pool {format_size(task.pool)}"
    with (
        cold_copy(lab, server, image, images, place) as cold,
        ExitStack() as running,
        ExitStack() as limited,
    ):
        with lab.progress.stage(title, "recover") as stage:
            limited.enter_context(place.limited())
            before = place.device.counters() if place.device else None
            instance = running.enter_context(Instance.start(server, cold.folder, task.request, recorder.log))
            if task.looked_at:
                running.enter_context(looked_at(instance.pid, recorder.log))
            clients = None
            if throughput is not None:
                clients = FollowedClients(lab, image.spec, throughput, instance, recorder.series)
                running.enter_context(clients)
            probe = Probe(instance, stage, place, task.stuck_after, None if clients is None else clients.start)
            end = watch_recovery(probe, task.settings)
            trial = _trial(task, cold, before, probe, end, recorder)
            recorder.trial(trial)
            stage.outcome = _in_words(trial)
            if trial.is_disturbed:
                lab.progress.note(f"{recorder.log.stem}: others used the processors meanwhile; no model learns from it")
        if end.outcome is not Outcome.READY:
            _keep_evidence(lab, task, images, instance, end, recorder)
            return
        if clients is not None and clients.started:
            _follow(lab, clients, task, recorder)
        limited.close()
        _judge(lab, task, instance, cold.folder / DATA, recorder)


def _trial(
    task: RecoveryTask,
    cold: ColdCopy,
    before: DeviceCounters | None,
    probe: Probe,
    end: WatchedRecovery,
    recorder: Recorder,
) -> RecoveryTrial:
    """Return the measurement of a recovery. `before`: counters of its device right before the start."""
    instance, place = probe.instance, probe.place
    timeline = instance.recovery()
    return RecoveryTrial(
        image=task.image.name,
        server=task.server.name,
        version=task.server.version,
        storage=place.name,
        log_size=task.image.spec.instance.log_size,
        buffer_pool=task.pool,
        settings=task.settings,
        repeat=task.repeat,
        started=datetime.fromtimestamp(instance.started.wall, UTC),
        copy=cold.copy,
        cache_dropped=cold.cache_dropped,
        buffered=place.buffered,
        outcome=end.outcome,
        seconds_to_ready=instance.seconds_to(Event.READY),
        first_connection=probe.connected,
        first_write=probe.written,
        rollback_ended=instance.seconds_to(Event.UNDO_END),
        timeline=timeline,
        instance=recorder.instance(_used(probe)),
        unfinished=end.unfinished,
        longest_quiet=probe.watch.longest,
        device=probe.device_since(before),
        cpu=probe.cpu,
        peak_memory=probe.peak_memory or instance.peak_memory(),
        lab_cpu_seconds=probe.lab_cpu,
        disturbance=probe.disturbance,
        # The server sets its count to 0 when it empties the pool between batches.
        pages_read=probe.pages_read if timeline is not None and timeline.batches in (None, 1) else None,
        late_share=place.late_share(),
        looked_at=task.looked_at,
    )


def _used(probe: Probe) -> UsedInstance:
    """Return the settings and variables that the server reports; without a connection, the lab's settings alone."""
    if probe.written is None or probe.connection is None:
        return probe.instance.requested()
    try:
        return probe.instance.used(probe.connection)
    except pymysql.MySQLError:
        return probe.instance.requested()


def _in_words(trial: RecoveryTrial) -> str:
    if trial.ready_s is not None:
        return f"ready after {format_duration(trial.ready_s)}"
    where = "" if trial.unfinished is None else f" at {trial.unfinished.where}"
    return f"{trial.outcome}{where}"


def _keep_evidence(
    lab: Lab, task: RecoveryTask, images: ImageStore, instance: Instance, end: WatchedRecovery, recorder: Recorder
) -> None:
    """Keep evidence of a recovery that ended badly, and end its server."""
    if end.outcome is Outcome.STUCK:
        keep_stacks(lab, instance.pid, recorder.evidence)
    keep_script(task.server, task.request, images.data(task.image), recorder.evidence)
    instance.end()
    cap_log(recorder.log)


def _judge(lab: Lab, task: RecoveryTask, instance: Instance, data: Path, recorder: Recorder) -> None:
    with lab.progress.stage("checking the recovered tables", "check") as stage:
        judgement = judge(instance, task.image, task.turn, stage)
        recorder.judgement(judgement)
        if judgement.ruling is not Ruling.RIGHT:
            stage.outcome = "WRONG" if judgement.ruling is Ruling.WRONG else f"unknown: {judgement.why}"
    if judgement.ruling is Ruling.WRONG:
        instance.end()
        keep_data(lab, data, recorder.evidence / DATA)


def _follow(lab: Lab, clients: FollowedClients, task: RecoveryTask, recorder: Recorder) -> None:
    """Follow the clients. If they end the server, the consistency check shows it; the measurement stays valid."""
    with lab.progress.stage("following the clients until throughput is back", "warm") as stage:
        try:
            warm = clients.follow(task.warm_for, stage)
        except (ServerFailed, WorkloadFailed) as error:
            stage.outcome = error.problem
            clients.close()
            return
    series = f"{recorder.series.parent.name}/{recorder.series.name}"
    recorder.warm(msgspec.structs.replace(warm, series=series))
