"""Recoveries as rows for frames, each with its crash image and fio's figures of its storage (docs/run-data.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from redolab.crash.records.crash import CrashImage
from redolab.crash.records.recovery import WarmTime
from redolab.disks.figures import FIGURES, StorageRecord
from redolab.errorlog import BINARY_LOG_PART, Phase
from redolab.machine.facts import DeviceUse
from redolab.results.load_figures import LoadFigures
from redolab.results.loads import Load, found_in, settings_in_words
from redolab.results.recoveries import Recovery, recoveries_of
from redolab.results.storages import storages_of
from redolab.runs.schema import Rows
from redolab.runs.store import Run
from redolab.workloads.tpcc.tables import TpccTables

_LOAD_COLUMNS = [
    field.name
    for field in fields(LoadFigures)
    if field.name not in {"commits", "new_orders", "redo_per_second", "measured_fillings"}
]
"""Figures of a load that have a column of the same name."""


def recovery_rows(run: Run) -> Rows:
    """Return the recoveries of a run. Raises `LabError`."""
    storages = storages_of(run)
    return [
        (
            each.record,
            {**recovery_row(each), **_storage(storages.of(each.trial.storage, each.record.session))},
        )
        for each in recoveries_of(run)
    ]


def load_rows(run: Run) -> Rows:
    """Return the recoveries of a run, each with the figures of the load before its crash. Raises `LabError`."""
    loads = {load.image.name: load for load in found_in([run]).loads}
    return [
        (record, {**columns, **load_columns(loads.get(record.trial.image))}) for record, columns in recovery_rows(run)
    ]


def load_columns(load: Load | None) -> Mapping[str, object]:
    """Return the columns that a load has in a row of the recovery after it; blank without a load."""
    figures = None if load is None else load.figures
    orders = None if figures is None or figures.new_orders is None else figures.rate.mean
    return {
        "load_steady": None if load is None else load.image.steady,
        "load_settings": None if load is None else settings_in_words(load.image.spec),
        "commits_per_s": None if figures is None else figures.commits.mean,
        "commits_low_per_s": None if figures is None else figures.commits.low,
        "commits_high_per_s": None if figures is None else figures.commits.high,
        "notpm": orders,
        **{name: None if figures is None else getattr(figures, name) for name in _LOAD_COLUMNS},
    }


def recovery_row(recovery: Recovery) -> Mapping[str, object]:
    """Return the flat record of a recovery and of its crash."""
    return {**_recovery(recovery), **_image(recovery.image)}


def _recovery(recovery: Recovery) -> Mapping[str, object]:
    trial, judgement = recovery.trial, recovery.judgement
    timeline, cpu, device, end = trial.timeline, trial.cpu, trial.device, trial.unfinished
    times = () if timeline is None else timeline.phases
    seconds = {time.phase: time.seconds for time in times}
    logged = None if timeline is None else timeline.seconds_to_ready
    return {
        "image": trial.image,
        "server": trial.server,
        "version": trial.version,
        "storage": trial.storage,
        "log_size_bytes": trial.log_size,
        "buffer_pool_bytes": trial.buffer_pool,
        "settings": trial.settings,
        "repeat": trial.repeat,
        "started": trial.started,
        "outcome": str(trial.outcome),
        "ready_s": trial.ready_s,
        "start_s": None if logged is None else max(0.0, (trial.ready_s or logged) - logged),
        **{f"{phase}_s": seconds.get(phase) for phase in Phase},
        "binary_log_s": None if timeline is None else timeline.seconds_of(BINARY_LOG_PART),
        "first_connection_s": trial.first_connection,
        "first_write_s": trial.first_write,
        "rollback_ended_s": trial.rollback_ended,
        "clock": None if timeline is None else timeline.clock,
        "redo_bytes": None if timeline is None else timeline.redo_bytes,
        "pages_to_recover": None if timeline is None else timeline.pages,
        "pages_read": trial.pages_read,
        "batches": None if timeline is None else timeline.batches,
        "rows_rolled_back": None if timeline is None else timeline.rows,
        "cpu_s": None if cpu is None else cpu.seconds,
        "busiest_thread_s": None if cpu is None else cpu.busiest_thread,
        "peak_memory_bytes": trial.peak_memory,
        "lab_cpu_s": trial.lab_cpu_seconds,
        "others_cpu_s": None if trial.disturbance is None else trial.disturbance.others,
        "steal_s": None if trial.disturbance is None else trial.disturbance.steal,
        **{f"device_{name}": None if device is None else getattr(device, name) for name in DeviceUse.__struct_fields__},
        "late_share": trial.late_share,
        "buffered": trial.buffered,
        "copy_s": trial.copy.seconds,
        "copy_reflink": trial.copy.reflink,
        "cache_dropped": trial.cache_dropped,
        "ended_phase": None if end is None else str(end.phase),
        "ended_percent": None if end is None else end.percent,
        "progress_ended_s": None if end is None else end.progress_ended,
        "stuck_s": None if end is None else end.ended - end.progress_ended,
        "stuck_cpu_s": None if end is None else end.cpu_seconds,
        "longest_quiet_s": trial.longest_quiet,
        **_warm(recovery.warm),
        "failed_checks": None if judgement is None else len(judgement.failed_checks),
        "verdict": None if judgement is None else str(judgement.ruling),
        "instance": trial.instance,
    }


def _warm(warm: WarmTime | None) -> Mapping[str, object]:
    orders = None if warm is None else warm.new_orders_before
    return {
        "commits_before_per_s": None if warm is None else warm.commits_before,
        "notpm_before": None if orders is None else 60 * orders,
        "first_commit_s": None if warm is None else warm.first_commit,
        "back_s": None if warm is None else warm.back,
        "best_share": None if warm is None else warm.best_share,
        "followed_s": None if warm is None else warm.followed,
    }


def _image(image: CrashImage) -> Mapping[str, object]:
    last, spec = image.last_sample, image.spec
    return {
        "crashed_server": spec.dataset.server,
        "crashed_version": spec.dataset.version,
        "redo_format": image.redo_format,
        "workload": spec.workload,
        "warehouses": spec.dataset.data.warehouses if isinstance(spec.dataset.data, TpccTables) else None,
        "threads": spec.threads,
        "think_time": spec.think_time,
        "pool_dump": spec.pool_dump,
        "trx_commit": spec.instance.flush_log_at_trx_commit,
        "binary_log": spec.instance.binary_log,
        "binary_log_end": None if spec.binary_log_end is None else str(spec.binary_log_end),
        "binary_log_bytes": image.binary_log_bytes,
        "dataset_bytes": spec.dataset.size,
        "open_transaction_rows": spec.dataset.open_transaction_rows,
        "fill_pool_bytes": spec.instance.buffer_pool,
        "crash_kind": spec.crash,
        "crash_number": spec.number,
        "crash_load": image.load,
        "crash_moment_s": image.moment,
        "fill_s": image.fill_seconds,
        "fill_pages_written": last.pages_written,
        "filled_to": spec.kill.filled_to(),
        "why_killed": image.why_killed,
        "checkpoint_age_bytes": last.checkpoint_age,
        "dirty_pages": last.dirty_pages,
        "undo_growth_bytes": image.undo_growth,
        "sync_flush_point_bytes": image.sync_flush_point,
        "hard_limit_bytes": image.hard_limit,
    }


def _storage(record: StorageRecord | None) -> Mapping[str, object]:
    check = None if record is None else record.check
    lies_on = None if record is None else record.lies_on
    return {
        "storage_device": None if lies_on is None else lies_on.device,
        "storage_file_system": None if lies_on is None else lies_on.file_system,
        **{f"fio_{figure.column}": None if check is None else figure.got(check.got) for figure in FIGURES},
        "disk_model_overhead_us": None if check is None else check.overhead_us,
    }
