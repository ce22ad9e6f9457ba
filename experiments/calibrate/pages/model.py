"""The page of the model: how far its predictions are off, its rates, and recovery time over log size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.models.recovery_time.fit import Observation
from redolab.models.recovery_time.held_out import HeldOut
from redolab.records.crash import filled_to
from redolab.records.plan import CrashPlan
from redolab.report.contents import Page, Plot
from redolab.report.labels import server_label
from redolab.report.template import filled
from redolab.results.committed import LEARNED_FROM, NEVER_LEARNED_FROM
from redolab.results.crashes import crashes_of
from redolab.runs.confounded import confounded_with_time
from redolab.runs.store import Run
from redolab.sizing.asking import model_of, slowest_workload
from redolab.sizing.calibrated_elsewhere import fit_of_machines
from redolab.sizing.calibration import Calibration, on_its_machine, shipped_calibration
from redolab.sizing.errors import ALL_SERVERS, ErrorRow, error_rows, errors_table, strata_table
from redolab.sizing.large_logs import in_words, large_logs, large_logs_table
from redolab.sizing.question import Question
from redolab.sizing.rates import rates_tables
from redolab.units import GIB, format_size

from .plots import HEADLINE_SHARE, PoolPanel, log_size_within, plot_errors, plot_over_log_size, plot_pools

_TEMPLATE = Path(__file__).with_suffix(".md")
RUNS = [*LEARNED_FROM, *NEVER_LEARNED_FROM]
"""Folders under data/measured whose runs the page is made from."""
_HEADLINE = "mariadb-10.11"
_STORAGE = "native"
_WORKLOAD = "bulk-update"
_RTO = 60.0
_IN_POOLS = ("mariadb-10.11", "mariadb-11.4", "mysql-5.6", "mysql-9")
_MANY_POOLS = "bulk-update"


def page(runs: Sequence[Run]) -> Page:
    """The page and its pictures, of the machines that were learned from; of others the errors alone."""
    others = [run for run in runs if run.folder.parent.name in NEVER_LEARNED_FROM]
    runs = [run for run in runs if run not in others]
    found = fit_of_machines(runs, others)
    observations = found.observations
    rows = error_rows(found.judged)
    calibration = on_its_machine(found.calibration)
    server = calibration.servers[_HEADLINE]
    question = Question(server=_HEADLINE, storage=_STORAGE, pool=GIB, workload=_WORKLOAD)
    model = model_of(question, calibration, _STORAGE)
    within = log_size_within(model, _RTO)
    slowest = slowest_workload(server)
    slow = model_of(Question(server=_HEADLINE, storage=_STORAGE, pool=GIB, workload=slowest), calibration, _STORAGE)
    within_slowest = log_size_within(slow, _RTO)
    learned = [run for run in runs if run.name in calibration.runs]
    large = large_logs(runs, others)
    values = {
        "workload": _WORKLOAD,
        "slowest": slowest,
        "within_slowest": "none" if within_slowest is None else format_size(within_slowest),
        "errors": errors_table([row for row in rows if row.server == ALL_SERVERS]).as_markdown(),
        "by_server": errors_table(
            [row for row in rows if row.server != ALL_SERVERS and row.held_out is HeldOut.CRASH]
        ).as_markdown(),
        "percent": "{:.0f} %".format,
        "strata": strata_table(rows).as_markdown(),
        "rates": [(table.title, table.as_markdown()) for table in rates_tables(shipped_calibration())],
        "median": {kind.name.lower(): _all(rows, kind) for kind in HeldOut},
        "held": {kind.name.lower(): _held(rows, kind) for kind in HeldOut},
        "recoveries": len(observations),
        "crashes": len({each.crash_name for each in observations}),
        "servers": [server_label(name, each.version) for name, each in calibration.servers.items()],
        "headline": server_label(_HEADLINE, server.version),
        "rto": f"{_RTO:.0f} s",
        "within": "no log" if within is None else format_size(within),
        "pool_share": f"{HEADLINE_SHARE:.0%}",
        "filled_to": filled_to([image for run in learned for image in crashes_of(run) if image.spec.kill.fills_up]),
        "left_out": found.left_out,
        "replicates": found.replicates.in_words(),
        "others": found.calibration.other_machines,
        "large": in_words(large) if large else "",
        "large_table": large_logs_table(large).as_markdown() if large else "",
        "confounded": confounded_with_time(
            learned,
            CrashPlan,
            {
                "servers": lambda crash: crash.server,
                "log sizes": lambda crash: crash.spec.instance.log_size,
                "workloads": lambda crash: crash.spec.workload,
            },
        ),
        "pools_of": _MANY_POOLS,
        "machine": f"{calibration.machine.in_words()}, {calibration.machine.system}",
        "date": f"{calibration.made:%Y-%m-%d}",
    }
    label = f"{server_label(_HEADLINE, server.version)} under {_WORKLOAD}, own disk, pool a quarter of the log"
    own = [each for each in observations if each.subject == (_HEADLINE, _WORKLOAD) and each.storage == _STORAGE]
    return Page(
        filled(_TEMPLATE, values),
        [
            Plot("over-log-size", partial(plot_over_log_size, model=model, measured=own, rto=_RTO, label=label)),
            Plot("errors", partial(plot_errors, judged=found.judged)),
            Plot("pools", partial(plot_pools, panels=_pool_panels(calibration, observations))),
        ],
    )


def _pool_panels(calibration: Calibration, observations: Sequence[Observation]) -> list[PoolPanel]:
    """Of these servers the crash with a log of 1G that was recovered with the most pools."""
    panels = []
    for name in _IN_POOLS:
        server = calibration.servers[name]
        crashes: dict[str, list[Observation]] = defaultdict(list)
        for each in observations:
            if each.subject == (name, _MANY_POOLS) and each.log_size == GIB and each.storage == _STORAGE:
                crashes[each.crash_name].append(each)
        most = max(crashes.values(), key=lambda own: len({each.pool for each in own}))
        panels.append(PoolPanel(server_label(name, server.version), server.workloads[_MANY_POOLS].fitted, most))
    return panels


def _held(rows: Sequence[ErrorRow], kind: HeldOut) -> float | None:
    """The share of the headline's server that lay in its intervals; None where nothing of it was held out."""
    own = next((row for row in rows if row.held_out is kind and row.server == _HEADLINE), None)
    return None if own is None else own.given.share([each.is_inside for each in own.given.of])[0]


def _all(rows: Sequence[ErrorRow], kind: HeldOut) -> ErrorRow | None:
    """The row of all servers, or of the only one."""
    return next((row for row in rows if row.held_out is kind), None)
