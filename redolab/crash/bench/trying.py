"""Trial of requested settings before a plan starts: each server starts with them on an empty data directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from redolab.crash.bench.crash_plan import CrashPlan
from redolab.errors import InvalidInput, ServerFailed
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.progress import Stage
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.extra_settings import settings_from, what_was_refused
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance
from redolab.units import MIB

_LOG = 64 * MIB
_POOL = 128 * MIB
_PATIENCE = 120.0


def try_settings(lab: Lab, plan: CrashPlan, positions: Sequence[int]) -> None:
    """Start the servers of these steps once with each set of settings of their loads and recoveries.

    Raises `InvalidInput` for settings that a server refuses: after hours of loading it would be too late. A lab that
    only reads tries nothing.
    """
    wanted = _requests(plan, positions)
    if lab.reads_only:
        if wanted:
            lab.progress.note(f"settings of {', '.join(wanted)} are tried when the run is started")
        return
    for name, requests in wanted.items():
        server = lab.server(name)
        folder = lab.home / "instances" / f"{name}-settings"
        with (
            lab.journal.making(folder, f"the instance of {name} that tried settings"),
            lab.progress.stage(f"trying settings of {name}", "settings") as stage,
        ):
            whole = folder / "whole"
            initialise(server, whole, replace(requests[0], overrides=()))
            for request in requests:
                _try(server, whole, folder / "tried", request, stage)


def _requests(plan: CrashPlan, positions: Sequence[int]) -> dict[str, list[InstanceRequest]]:
    """Return server → small instances with the requested settings, each set once."""
    requests: dict[str, dict[str, InstanceRequest]] = {}
    for position in positions:
        planned = plan.steps[position]
        crash = plan.groups[planned.group]
        load = replace(
            crash.spec.instance,
            log_size=min(crash.spec.instance.log_size, _LOG),
            buffer_pool=_POOL,
            page_size=None,
            network=False,
        )
        recovery = replace(load, purpose=Purpose.RECOVER, overrides=settings_from(planned.step.settings))
        for request in (recovery, load) if crash.image is None else (recovery,):
            if request.overrides:
                requests.setdefault(crash.server, {}).setdefault(_in_words(request), request)
    return {server: list(of_server.values()) for server, of_server in requests.items()}


def _in_words(request: InstanceRequest) -> str:
    return "+".join(each.name if each.value is None else f"{each.name}={each.value}" for each in request.overrides)


def _try(server: InstalledServer, whole: Path, folder: Path, request: InstanceRequest, stage: Stage) -> None:
    stage.say(_in_words(request))
    # Use a copy: a data directory changed by one set of settings is no start for another.
    files.remove(folder)
    copies.copy_folder(whole / DATA, folder / DATA)
    with Instance.start(server, folder, request, folder / "error.log") as instance:
        try:
            instance.wait_ready(_PATIENCE)
        except ServerFailed as error:
            if instance.status is None:
                raise
            message = what_was_refused(instance.log, request.overrides)
            raise InvalidInput(
                f"{server.name} does not take {_in_words(request)}: {message}", "give it settings of its version"
            ) from error
