"""Watching a recovery to its outcome: a bad one is a result, and no error of the lab."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.crash.records.recovery import Outcome, Unfinished
from redolab.crash.recovery.probe import Probe, RefusedError, StuckError
from redolab.errorlog.collapse import repetitions
from redolab.errorlog.watch import recovery_progress
from redolab.errors import InvalidInput, ServerFailed
from redolab.servers.extra_settings import error_naming, settings_from
from redolab.servers.instance import Instance

_LAST_LINES = 15
_LOOK = 0.005
"""Seconds for which the log is read at a time."""


@dataclass(frozen=True, slots=True)
class WatchedRecovery:
    """End of a recovery."""

    outcome: Outcome
    unfinished: Unfinished | None
    """Details of a recovery that did not end well."""


def watch_recovery(probe: Probe, settings: str) -> WatchedRecovery:
    """Watch a recovery to its end, as long as it progresses: nine hours of rollback ended well.

    `settings`: beyond the lab's own. Raises `LabError` if the storage or the lab is at fault, `InvalidInput` if the
    server does not take the settings.
    """
    instance = probe.instance
    try:
        while not probe.recovered():
            instance.read_log(_LOOK)
        outcome, why = Outcome.READY, ""
    except StuckError:
        outcome, why = Outcome.STUCK, ""
    except RefusedError as error:
        outcome, why = Outcome.REFUSED, str(error)
    except ServerFailed:
        probe.place.check()
        if instance.status is None:
            raise
        outcome, why = (Outcome.DIED if instance.is_ready else Outcome.GAVE_UP), ""
    if outcome is Outcome.GAVE_UP and (refused := _refused_setting(instance, settings)) is not None:
        raise refused
    if outcome is Outcome.READY and instance.recovery() is None:
        outcome = Outcome.NO_CRASH_RECOVERY
    return WatchedRecovery(outcome, None if outcome is Outcome.READY else _unfinished(probe, outcome, why))


def _refused_setting(instance: Instance, settings: str) -> InvalidInput | None:
    """Return the error for a requested setting that this server refuses, if an error in its log names one."""
    message = error_naming(instance.log, settings_from(settings))
    if message is None:
        return None
    return InvalidInput(
        f"{instance.server.name} does not take {settings}: {message}", "give it settings of its version"
    )


def _unfinished(probe: Probe, outcome: Outcome, why: str) -> Unfinished:
    instance, since = probe.instance, probe.since_progress()
    progress = recovery_progress(instance.log)
    texts = [line.text for line in instance.log]
    repeated = () if outcome is Outcome.NO_CRASH_RECOVERY else repetitions(texts)
    return Unfinished(
        phase=progress.phase,
        percent=progress.percent,
        progress_ended=since.progress_ended,
        ended=since.now,
        status=instance.status,
        why=why,
        cpu_seconds=since.cpu_seconds,
        device=since.device,
        repeated=tuple(repeated),
        last_lines=tuple(texts[-_LAST_LINES:]),
    )
