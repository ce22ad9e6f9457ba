"""A calibration from a few recoveries on the user's machine: the project's rates, scaled to it.

Five crashes determine twelve rates badly, and two factors well. With the project's rates scaled, predictions of
other runs on the same machine have smaller errors than with rates of its own (docs/recovery-time.md has the table).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import msgspec

from redolab.disks.profiles import HOME
from redolab.predict.calibration import (
    CalibratedServer,
    CalibratedWorkload,
    Calibration,
    measured_storages,
    on_its_machine,
    spanned,
    with_spreads_of,
)
from redolab.predict.fitting import FittedRuns
from redolab.predict.recovery_time.fit import Fitted, Observation
from redolab.predict.recovery_time.held_out import HeldOut, held_out_prediction
from redolab.predict.recovery_time.scaling import Scaling, scaling
from redolab.predict.recovery_time.spreads import ByKind, Spreads, spreads_of
from redolab.predict.server_names import is_same_series

_ENOUGH = 12
"""Number of crashes of a server that determine its rates alone."""


def on_own_machine(found: FittedRuns, known: Calibration) -> Calibration:
    """Return a user's calibration, with known rates of the same servers scaled, and errors that few runs cannot show.

    Servers without known rates, or with enough crashes, keep their own rates.
    """
    calibration = with_spreads_of(found.calibration, known)
    servers: dict[str, CalibratedServer] = {}
    of_crashes: list[Spreads] = []
    has_own_rates = False
    for name, server in calibration.servers.items():
        elsewhere = known.servers.get(name)
        rates = {} if elsewhere is None else elsewhere.workloads
        own = [each for each in found.observations if each.server == name and each.workload in rates]
        if (
            elsewhere is None
            or not own
            or not is_same_series(server.dialect, elsewhere.dialect)
            or len(_crashes(own)) >= _ENOUGH
        ):
            servers[name] = server
            has_own_rates = True
            continue
        factors = scaling((rates[each.workload], each) for each in own)
        scaled = {workload: _scaled(fitted, factors, own) for workload, fitted in elsewhere.workloads.items()}
        # Tables were not calibrated; what they add on the model of a disk is the same on each machine.
        of_models = {storage: s for storage, s in elsewhere.seconds_per_table_on.items() if storage != HOME}
        servers[name] = msgspec.structs.replace(
            server,
            workloads={**server.workloads, **scaled},
            seconds_per_table_on={**of_models, **server.seconds_per_table_on},
        )
        of_crashes.append(_left_out(own, rates))
    spreads = calibration.spreads if has_own_rates or not servers else on_its_machine(known).spreads.each(_of_scaled)
    # One set of errors for all servers of the calibration: those of the least certain server.
    spreads = reduce(Spreads.wider, of_crashes, spreads)
    servers = {name: _with_facts_of_others(name, server, known) for name, server in servers.items()}
    return msgspec.structs.replace(calibration, servers=servers, spreads=spreads)


def _of_scaled(spreads: ByKind) -> ByKind:
    """Return the errors of scaled rates: for larger logs, those on machines that calibrated themselves, if known."""
    if HeldOut.CALIBRATED_LARGER not in spreads:
        return spreads
    return {**spreads, HeldOut.LOG_SIZE: spreads[HeldOut.CALIBRATED_LARGER]}


def _scaled(fitted: CalibratedWorkload, factors: Scaling, own: Sequence[Observation]) -> CalibratedWorkload:
    """Return a workload's rates scaled to this machine. Its measured range becomes the range measured here."""
    return msgspec.structs.replace(
        fitted,
        rates=factors.of(fitted).rates,
        scaled_by=len(own),
        storages=measured_storages(own),
        log_sizes=spanned(each.log_size for each in own),
        known_up_to=0,
        pools=spanned(each.pool for each in own),
    )


def _with_facts_of_others(name: str, server: CalibratedServer, known: Calibration) -> CalibratedServer:
    """Return the server with two facts that a few crashes cannot show.

    A few recoveries without a stuck one do not prove that none gets stuck, and a calibration does not try the pools
    with which others got stuck: add the stuck recoveries of all servers with the same recovery code. A calibration does
    not measure how fast the server reads its binary log either, nor how fast it undoes what is cut off there: take the
    rates known of the same server.
    """
    code = server.dialect.recovery_code
    stuck = [each.in_several_batches for each in known.servers.values() if each.dialect.recovery_code == code]
    elsewhere = known.servers.get(name, server)
    return msgspec.structs.replace(
        server,
        in_several_batches=sum(stuck, server.in_several_batches),
        binary_log_mb_s=elsewhere.binary_log_mb_s,
        binary_log_again_mb_s=elsewhere.binary_log_again_mb_s,
        prepared_on=elsewhere.prepared_on,
    )


def _left_out(own: Sequence[Observation], rates: Mapping[str, Fitted]) -> Spreads:
    """Return the errors of predictions of each crash by factors from the others; empty for one crash."""
    judged = []
    for name in _crashes(own):
        others = [(rates[each.workload], each) for each in own if each.crash_name != name]
        if others:
            factors = scaling(others)
            judged += [
                held_out_prediction(HeldOut.CRASH, each, factors.of(rates[each.workload]))
                for each in own
                if each.crash_name == name
            ]
    return spreads_of(judged)


def _crashes(observations: Sequence[Observation]) -> list[str]:
    return list(dict.fromkeys(each.crash_name for each in observations))
