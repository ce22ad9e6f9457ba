"""Watching a recovery to its outcome: a bad one is a result, and no error of the lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from redolab.crash.records.recovery import Outcome, Repeated, Unfinished
from redolab.crash.recovery.probe import Probe, RefusedError, StuckError
from redolab.disks.place import Place
from redolab.errorlog.collapse import repetitions
from redolab.errorlog.watch import recovery_progress
from redolab.errors import InvalidInput, ServerFailed
from redolab.servers.extra_settings import error_naming, settings_from
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance

_LAST_LINES = 15


class Recovering(Protocol):
    """A recovery: a server, and its settings."""

    @property
    def server(self) -> InstalledServer:
        """Return the recovering server."""

    @property
    def settings(self) -> str:
        """Return the settings beyond the lab's own."""


@dataclass(frozen=True, slots=True)
class WatchedRecovery:
    """End of a recovery."""

    outcome: Outcome
    unfinished: Unfinished | None
    """Details of a recovery that did not end well."""


_LOOK = 0.005
"""Seconds from one look at a recovery that is timed to the next."""


def watched(task: Recovering, instance: Instance, probe: Probe, place: Place) -> WatchedRecovery:
    """Watch a recovery to its end, as long as it progresses: nine hours of rollback ended well. Raises as `looked`."""
    while True:
        if (end := looked(task, instance, probe, place, _LOOK)) is not None:
            return end


def looked(
    task: Recovering, instance: Instance, probe: Probe, place: Place, seconds: float = 0.0
) -> WatchedRecovery | None:
    """Read the log for `seconds`. Return how the recovery has ended; None while it goes on.

    Raises `LabError` if the storage or the lab is at fault, `InvalidInput` if the requested settings are unknown to
    the server.
    """
    try:
        if not probe.recovered():
            instance.look(seconds)
            return None
        outcome, why = Outcome.READY, ""
    except StuckError:
        outcome, why = Outcome.STUCK, ""
    except RefusedError as error:
        outcome, why = Outcome.REFUSED, str(error)
    except ServerFailed:
        place.check()
        if instance.status is None:
            raise
        outcome, why = (Outcome.DIED if instance.is_ready else Outcome.GAVE_UP), ""
    if outcome is Outcome.GAVE_UP and (refused := _refused_setting(task, instance)) is not None:
        raise refused
    if outcome is Outcome.READY and instance.recovery() is None:
        outcome = Outcome.NO_CRASH_RECOVERY
    return WatchedRecovery(outcome, None if outcome is Outcome.READY else _unfinished(instance, probe, outcome, why))


def _refused_setting(task: Recovering, instance: Instance) -> InvalidInput | None:
    """Return the error for a requested setting that this server refuses, if an error in its log names one."""
    said = error_naming(instance.log, settings_from(task.settings))
    if said is None:
        return None
    return InvalidInput(f"{task.server.name} does not take {task.settings}: {said}", "give it settings of its version")


def _unfinished(instance: Instance, probe: Probe, outcome: Outcome, why: str) -> Unfinished:
    since, status = probe.since_progress(), instance.status
    progress = recovery_progress(instance.log)
    texts = [line.text for line in instance.log]
    repeated = () if outcome is Outcome.NO_CRASH_RECOVERY else repetitions(texts)
    return Unfinished(
        phase=progress.phase,
        percent=progress.percent,
        progress_ended=since.progress_ended,
        ended=since.now,
        status=status,
        why=why,
        cpu_seconds=since.cpu_seconds,
        device=since.device,
        repeated=tuple(Repeated(text=each.text, times=each.times) for each in repeated),
        last_lines=tuple(texts[-_LAST_LINES:]),
    )
