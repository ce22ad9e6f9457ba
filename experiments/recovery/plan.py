"""The plan of the recovery experiment: every crash that is to be recovered once, and its recoveries."""

from __future__ import annotations

import itertools

from redolab.bench.checks import check_memory
from redolab.bench.planning import LOADS_POOL, crash_blocks, load_of, usual_pools
from redolab.crashes.wanted import WantedCrash, crash_spec
from redolab.lab import Lab
from redolab.records.crash import CrashSpec
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.runs.plan import draw_plan
from redolab.servers.catalogue import server_catalogue
from redolab.states.images import ImageStore, check_format
from redolab.storage.attaching import check_possible
from redolab.workloads.catalogue import workload_catalogue

from .factors import Factors


def plan(factors: Factors, lab: Lab) -> CrashPlan:
    """Return the plan of all combinations, each crash with the largest log its server takes. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    crashes = _crashes(factors, lab) if factors.image is None else _of_image(factors.image, factors, lab)
    conditions = CrashConditions(
        storages=factors.profiles(),
        sample_every=factors.sample_every,
        new_crash=factors.new_crash,
        check_disks=factors.check_disks,
        stuck_after=factors.stuck_after,
        warm_for=factors.warm_for(crashes[0].spec.workload),
        looked_at=factors.follow,
    )
    return draw_plan(
        crash_blocks([(crash, _recoveries(factors, crash.spec)) for crash in crashes]),
        repeat=factors.repeat,
        seed=factors.drawn_seed(),
        conditions=conditions,
        keep=factors.keep,
        together=load_of,
    )


def _of_image(name: str, factors: Factors, lab: Lab) -> list[PlannedCrash]:
    """Return a kept crash image for each server that is to recover it. Raises `LabError`."""
    image = ImageStore(lab.home).get(name)
    servers = factors.server if "server" in factors.given else (image.spec.dataset.server,)
    for server in servers:
        check_format(image, server, server_catalogue().get(server).dialect())
        lab.server(server)
    return [PlannedCrash(server=server, spec=image.spec, image=name) for server in servers]


def _crashes(factors: Factors, lab: Lab) -> list[PlannedCrash]:
    """Return the crashes to make, each once. Raises `LabError`."""
    wanted = [
        WantedCrash(
            log_size=log_size,
            dataset=factors.dataset,
            workload=factors.workload,
            warehouses=factors.warehouses,
            threads=factors.connections or factors.threads,
            think_time=factors.think_time,
            pool_dump=any(factors.pool_dump),
            kill=factors.rule(),
            crash=crash,
            open_transaction_rows=factors.open_transaction,
            trx_commit=factors.trx_commit,
            binary_log=factors.binary_log,
            number=number,
        )
        for log_size, crash, number in itertools.product(factors.log_size, factors.crash, range(1, factors.crashes + 1))
    ]
    check_memory(wanted, factors.pool or ())
    workload_catalogue().get(factors.workload).require(lab)
    every = itertools.product(factors.server, wanted)
    # All logs beyond a server's largest give the same crash.
    return list(
        dict.fromkeys(PlannedCrash(server=name, spec=crash_spec(lab.server(name), each)) for name, each in every)
    )


def _recoveries(factors: Factors, spec: CrashSpec) -> list[PlannedRecovery]:
    """Return the recoveries of a crash."""
    return [
        PlannedRecovery(storage=storage, pool=pool, settings="+".join(filter(None, (settings, loaded))))
        for storage in factors.storage
        for pool in factors.pool or usual_pools(spec)
        for settings in factors.settings
        for loaded in (LOADS_POOL if dump else "" for dump in factors.pool_dump)
    ]
