"""Measured recoveries as observations for the model of recovery times."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from redolab.crash.records.binary_log_end import EndKind
from redolab.crash.records.crash import SAME_FILES, CrashSpec
from redolab.crash.records.recovery import Outcome, RecoveryTrial
from redolab.disks.figures import StorageRecord
from redolab.disks.profiles import HOME
from redolab.errorlog import BINARY_LOG_PART, Phase, Timeline
from redolab.machine.machine_class import MachineClass
from redolab.predict.recovery_time.fit import CrashCondition, Observation
from redolab.predict.recovery_time.held_out import ENOUGH_CRASHES
from redolab.predict.recovery_time.pooling import Subject
from redolab.predict.recovery_time.rollback import Rollback
from redolab.predict.recovery_time.spread import LEAST_SPREAD, Spread, spread_of
from redolab.predict.recovery_time.stuck import FEW_THREADS, StuckCount, StuckCounts, class_of
from redolab.predict.recovery_time.terms import DiskRates, Part
from redolab.predict.recovery_time.work import CrashSize
from redolab.results.alike import Keyed, Keys
from redolab.results.comparison_key import Field, StorageKey, grouped
from redolab.results.storages import storages_of
from redolab.runs.store import Run
from redolab.servers.dialects import dialect_of_version, family_of
from redolab.servers.redo_capacity import PAGE_SIZE
from redolab.servers.sizes import default_dataset

_ROWS_ENOUGH = 10_000
"""Fewest rows for a rate of rollback."""
_SECONDS_ENOUGH = 1.0
"""Fewest seconds that tables are expected to add: smaller effects are lost in the spread of recoveries."""
_MEGABYTE = 1e6
_LEAST_BINARY_LOG = 100.0
"""Megabytes of a last file from which on it tells a rate."""
_SECOND_READING = 0.2
"""Share of the first reading from which on more seconds are a second reading."""
_LEAST_SECONDS = 0.1
"""Least seconds that tables are taken to have added: a measured difference can be zero."""


@dataclass(frozen=True, slots=True)
class Disks:
    """Median of each figure that fio measured of storages, over runs that measured all figures of the model.

    Fio runs for half a minute. Other work of the disk in that time, such as discarding removed files or another machine
    on the host, may slow it several times.
    """

    figures: Mapping[tuple[MachineClass, str | None, StorageKey], DiskRates]
    """Figures by class and id of the machine and by storage; with None for the id, over all machines of the class."""

    def of(self, each: Keyed) -> DiskRates | None:
        """Return the figures for a recovery: of its machine, else of its class; None if fio measured neither."""
        machine, storage = each.key.machine, each.key.storage
        return self.figures.get((machine, each.identity, storage), self.figures.get((machine, None, storage)))


def measured_disks(keys: Keys) -> Iterator[tuple[Run, StorageRecord, DiskRates]]:
    """Yield run, record and figures of each storage of which fio measured all figures of the model.

    Raises `LabError` if a run cannot be read.
    """
    for run in keys.runs:
        for record in storages_of(run).records:
            got = None if record.check is None else record.check.got
            if got is not None and got.in_order is not None:
                disk = DiskRates(
                    read_us=got.read.latency_us,
                    write_us=got.write.latency_us,
                    queued_reads_per_s=got.queued_read.per_second,
                    in_order_mb_s=got.in_order.mb_s,
                    sequential_mb_s=got.sequential.mb_s,
                )
                yield run, record, disk


def known_disks(keys: Keys) -> Disks:
    """Return the disks of some runs. Raises `LabError` if a run cannot be read."""
    found: dict[tuple[MachineClass, str | None, StorageKey], list[DiskRates]] = defaultdict(list)
    for run, record, disk in measured_disks(keys):
        machine, storage = keys.machine(run, record.session), keys.storage(run, record.storage)
        for identity in (run.record().sessions[record.session].identity, None):
            found[machine, identity, storage].append(disk)
    return Disks({key: _median(disks) for key, disks in found.items()})


def _median(disks: Sequence[DiskRates]) -> DiskRates:
    figures = zip(*map(msgspec.structs.astuple, disks), strict=True)
    return DiskRates(**dict(zip(DiskRates.__struct_fields__, map(statistics.median, figures), strict=True)))


def observations_of(recoveries: Sequence[Keyed], disks: Disks) -> list[Observation]:
    """Return the recoveries that ended well and undisturbed, on storages that fio measured on a machine of that class.

    Early recoveries have no record of disturbances, and the lab's own probes slowed them by up to 14 %
    (docs/recovery.md). They are left out if enough crashes of the server under the workload have a record, and are
    never judged.
    """
    found = [each for recovery in recoveries if (each := _observation(recovery, disks)) is not None]
    recorded: dict[Subject, set[str]] = defaultdict(set)
    for each in found:
        if each.is_judged:
            recorded[each.subject].add(each.crash_name)
    return [each for each in found if each.is_judged or len(recorded[each.subject]) < ENOUGH_CRASHES]


def _is_usual(spec: CrashSpec) -> bool:
    """Return True if the crash has nothing that the model has no terms for."""
    dataset = spec.dataset
    return spec.crash in SAME_FILES and not (
        spec.prepared_transactions
        or spec.binary_log_end
        or dataset.empty_tables
        or dataset.page_size
        or spec.instance.overrides
    )


def table_rates(recoveries: Sequence[Keyed]) -> Mapping[str, Mapping[str, float]]:
    """Return server → storage → seconds that a table adds, from crashes that differ only in their number of tables.

    Servers and storages without such crashes are left out. All recoveries of a server are of one version.
    """
    return {
        server: {storage: _seconds_per_table(added) for storage, added in by_storage.items()}
        for server, by_storage in _seconds_of_tables(recoveries).items()
    }


def tables_spread(recoveries: Sequence[Keyed]) -> Spread | None:
    """Return the errors of `table_rates` for another crash with as many tables.

    None if no crash has a second one with as many tables, or if they added little. With fewer tables each adds less on
    a slow disk, so a rate from the most tables tends to be too high.
    """
    errors = []
    for by_storage in _seconds_of_tables(recoveries).values():
        for added in by_storage.values():
            most = [each for each in added if each.tables == max(other.tables for other in added)]
            for each in most:
                others = [other for other in most if other.crash_name != each.crash_name]
                expected = each.tables * _seconds_per_table(others) if others else 0.0
                if expected >= _SECONDS_ENOUGH:
                    errors.append((each.crash_name, math.log(max(each.seconds, _LEAST_SECONDS) / expected)))
    return spread_of(errors).at_least(LEAST_SPREAD) if errors else None


@dataclass(frozen=True, slots=True)
class _AddedByTables:
    """Time that tables added to recoveries of one crash, against crashes without them."""

    crash_name: str
    tables: int
    seconds: float
    """Median seconds added."""


def _seconds_of_tables(recoveries: Sequence[Keyed]) -> Mapping[str, Mapping[str, list[_AddedByTables]]]:
    ready = [
        (each.key, (each.trial.storage, each.image, each.trial.ready_s))
        for each in recoveries
        if each.trial.ready_s is not None and not each.trial.settings
    ]
    found: dict[str, dict[str, list[_AddedByTables]]] = defaultdict(lambda: defaultdict(list))
    for key, measured in grouped(ready, Field.EMPTY_TABLES).items():
        without = [seconds for _, image, seconds in measured if not image.spec.dataset.empty_tables]
        crashes: dict[tuple[str, int], list[float]] = defaultdict(list)
        for _, image, seconds in measured:
            if image.spec.dataset.empty_tables:
                crashes[image.name, image.spec.dataset.empty_tables].append(seconds)
        if without and crashes:
            storage, *_ = measured[0]
            found[key.server][storage] += [
                _AddedByTables(name, tables, statistics.median(seconds) - statistics.median(without))
                for (name, tables), seconds in crashes.items()
            ]
    return found


def _seconds_per_table(added: Sequence[_AddedByTables]) -> float:
    """Return the seconds for each table, by least squares through 0."""
    return max(0.0, sum(each.tables * each.seconds for each in added) / sum(each.tables**2 for each in added))


def binary_log_mb_s(recoveries: Sequence[Keyed], server: str) -> float | None:
    """Return the megabytes of the last binary log file that a server reads in a second on the lab's own disk: the median.

    Files of less than 100 MB tell too little. None without a recovery after a larger one.
    """
    rates = [
        _megabytes(each) / seconds
        for kind in (EndKind.SMALL, EndKind.WHOLE)
        for each, timeline in _at_binary_log(recoveries, server, kind)
        if _megabytes(each) >= _LEAST_BINARY_LOG and (seconds := timeline.seconds_of(BINARY_LOG_PART))
    ]
    return statistics.median(rates) if rates else None


def binary_log_again_mb_s(recoveries: Sequence[Keyed], server: str) -> float | None:
    """Return the megabytes of that file a second when MySQL reads it once more: the median after small transactions.

    MySQL looks for GTIDs in it before it is ready (MYSQL_BIN_LOG::init_gtid_sets). None where the phase accept is no
    longer than the first reading makes it, against recoveries with a new file.
    """
    small = _at_binary_log(recoveries, server, EndKind.SMALL)
    new = [timeline.phase(Phase.ACCEPT).seconds or 0.0 for each, timeline in small if _megabytes(each) < 1.0]
    if not new:
        return None
    rates = []
    for each, timeline in small:
        accepted, read = timeline.phase(Phase.ACCEPT).seconds, timeline.seconds_of(BINARY_LOG_PART)
        if _megabytes(each) >= _LEAST_BINARY_LOG and accepted is not None and read is not None:
            again = accepted - read - statistics.median(new)
            rates.append(_megabytes(each) / again if again > _SECOND_READING * read else math.inf)
    found = statistics.median(rates) if rates else math.inf
    return None if math.isinf(found) else found


def _at_binary_log(recoveries: Sequence[Keyed], server: str, kind: EndKind) -> list[tuple[Keyed, Timeline]]:
    """Return a server's timed recoveries on the lab's own disk whose binary log ends so."""
    return [
        (each, each.trial.timeline)
        for each in recoveries
        if each.trial.server == server
        and each.trial.storage == HOME
        and each.trial.timeline is not None
        and _end_of(each) is kind
        # A compressed log has fewer bytes, and each takes longer.
        and not each.image.spec.instance.overrides
    ]


def _end_of(each: Keyed) -> EndKind | None:
    """Return how the binary log ended at the crash; None where that was not arranged."""
    end = each.image.spec.binary_log_end
    return None if end is None else end.kind


def _megabytes(each: Keyed) -> float:
    """Return the size of the last binary log file at the crash."""
    return (each.image.binary_log_bytes or 0) / _MEGABYTE


def stuck_counts(recoveries: Sequence[Keyed], server: str, workloads: Sequence[str]) -> StuckCounts:
    """Return the counts of a server's recoveries in several batches under these workloads, and of the stuck ones.

    Only recoveries with default settings count, except for the number of read threads.
    """
    by_class: dict[int, list[Keyed]] = defaultdict(list)
    for each in recoveries:
        threads = read_threads_of(each)
        is_of_it = each.trial.server == server and each.image.spec.workload in workloads
        if is_of_it and threads is not None and is_of_several_batches(each.trial):
            by_class[class_of(threads)].append(each)
    few = by_class.pop(FEW_THREADS, [])
    more: dict[int, StuckCount] = {}
    known = list(few)
    for least, of_class in sorted(by_class.items()):
        got_stuck = {
            (each.trial.image, each.trial.buffer_pool) for each in known if each.trial.outcome is Outcome.STUCK
        }
        count = _counted([each for each in of_class if (each.trial.image, each.trial.buffer_pool) in got_stuck])
        if count.crashes:
            more[least] = count
        known += of_class
    by_workload = {name: _counted([each for each in few if each.image.spec.workload == name]) for name in workloads}
    return StuckCounts({name: count for name, count in by_workload.items() if count.crashes}, more)


def _counted(recoveries: Sequence[Keyed]) -> StuckCount:
    by_crash: dict[str, list[bool]] = defaultdict(list)
    for each in recoveries:
        by_crash[each.trial.image].append(each.trial.outcome is Outcome.STUCK)
    return StuckCount(
        stuck=sum(map(sum, by_crash.values())),
        recoveries=len(recoveries),
        crashes=len(by_crash),
        crashes_stuck=math.fsum(statistics.fmean(of_crash) for of_crash in by_crash.values()),
    )


def read_threads_of(each: Keyed) -> int | None:
    """Return innodb_read_io_threads of a recovery; None if any other setting is not the default."""
    if not each.trial.settings:
        return dialect_of_version(each.trial.version).default_read_threads(each.key.machine.cores)
    name, _, value = each.trial.settings.partition("=")
    return int(value) if name == "innodb_read_io_threads" and value.isdigit() else None


def is_of_several_batches(trial: RecoveryTrial) -> bool:
    """Return True if it took more than one batch; stuck recoveries did."""
    if trial.outcome is Outcome.STUCK:
        return True
    batches = None if trial.timeline is None else trial.timeline.batches
    return trial.outcome is Outcome.READY and batches is not None and batches > 1


def moments_of(
    recoveries: Sequence[Keyed], server: str, workload: str
) -> Mapping[str, Mapping[int, tuple[float, ...]]]:
    """Return storage → log size → checkpoint ages at random crash times of loads under production settings.

    Ages are shares of the hard limit, in ascending order.
    """
    shares: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for each in recoveries:
        spec, age = each.image.spec, each.image.last_sample.checkpoint_age
        if _is_at_random(spec) and age is not None and (each.trial.server, spec.workload) == (server, workload):
            shares[spec.storage][spec.instance.log_size][each.image.name] = age / each.image.hard_limit
    return {
        storage: {size: tuple(sorted(of_size.values())) for size, of_size in sorted(by_size.items())}
        for storage, by_size in sorted(shares.items())
    }


def _is_at_random(spec: CrashSpec) -> bool:
    return spec.kill.moment is not None and spec.instance.purpose.is_production


def _condition(spec: CrashSpec) -> CrashCondition:
    if _is_at_random(spec):
        return CrashCondition.AT_RANDOM
    is_usual = spec.kill.fills_up and spec.dataset.size == default_dataset(spec.instance.log_size)
    return CrashCondition.FULL if is_usual else CrashCondition.OTHERWISE


def rollback_of(each: Keyed) -> Rollback | None:
    """Return the rollback after a recovery; None if unknown, or of few rows, where starting takes most of the time."""
    trial, timeline = each.trial, each.trial.timeline
    if trial.is_disturbed or timeline is None or not timeline.rows or not timeline.rollback_seconds:
        return None
    if timeline.rows < _ROWS_ENOUGH:
        return None
    return Rollback(
        server=trial.server,
        family=family_of(trial.version),
        storage=trial.storage,
        crash_name=trial.image,
        rows=timeline.rows,
        seconds=timeline.rollback_seconds,
    )


def prepared_rollbacks(recoveries: Sequence[Keyed]) -> list[Rollback]:
    """Return the rollbacks before ready of transactions that were cut off in the binary log.

    Their seconds have what the phase open takes longer than after a crash with a new binary log: InnoDB reads the undo
    of so large a transaction first.
    """
    timed = [(each, timeline) for each in recoveries if (timeline := each.trial.timeline) is not None]
    usual: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each, timeline in timed:
        if _end_of(each) is EndKind.SMALL and _megabytes(each) < 1.0:
            usual[each.trial.server, each.trial.storage].append(timeline.phase(Phase.OPEN).seconds or 0.0)
    found = []
    for each, timeline in timed:
        trial, end = each.trial, each.image.spec.binary_log_end
        opened = usual.get((trial.server, trial.storage))
        if end is None or end.kind is not EndKind.CUT or not opened:
            continue
        dialect = dialect_of_version(trial.version)
        if dialect.undoes_cut_off_first and (seconds := timeline.seconds_of(BINARY_LOG_PART)):
            more = max(0.0, (timeline.phase(Phase.OPEN).seconds or 0.0) - statistics.median(opened))
            found.append(
                Rollback(
                    server=trial.server,
                    family=dialect.family,
                    storage=trial.storage,
                    crash_name=trial.image,
                    rows=end.amount,
                    seconds=seconds + more,
                )
            )
    return found


def _observation(each: Keyed, disks: Disks) -> Observation | None:
    """Return a recovery as an observation; None if the model cannot be trained on it.

    The model is not trained on recoveries that did not end well, that something may have slowed, that it has no terms
    for, or whose redo, dirty pages or disk are unknown.
    """
    trial, image, disk = each.trial, each.image, disks.of(each)
    timeline, last = trial.timeline, image.last_sample
    if trial.ready_s is None or trial.settings or trial.is_disturbed or trial.looked_at or not _is_usual(image.spec):
        return None
    if timeline is None or disk is None or last.checkpoint_age is None or last.dirty_pages is None:
        return None
    crash = CrashSize(redo=float(last.checkpoint_age), dirty_pages=float(last.dirty_pages))
    return Observation(
        run=each.run,
        server=trial.server,
        family=family_of(trial.version),
        storage=trial.storage,
        crash_name=trial.image,
        log_size=trial.log_size,
        pool=trial.buffer_pool,
        workload=image.spec.workload,
        crash=crash,
        disk=disk,
        batches=timeline.batches,
        pages=_pages(trial, timeline, crash),
        stretches=_stretches(trial.ready_s, timeline),
        ready=trial.ready_s,
        tables=image.spec.dataset.size,
        condition=_condition(image.spec),
        is_judged=trial.disturbance is not None,
    )


def _pages(trial: RecoveryTrial, timeline: Timeline, crash: CrashSize) -> float | None:
    """Return the recovered pages by the log's count, else by the device's reads beyond the redo.

    MySQL up to 5.7 and MariaDB 10.2 log no count.
    """
    if timeline.pages is not None:
        return float(timeline.pages)
    if trial.device is None:
        return None
    beyond = (trial.device.read_bytes - crash.redo) / PAGE_SIZE
    return beyond if beyond > 0 else None


def _stretches(ready: float, timeline: Timeline) -> Mapping[frozenset[Part], float]:
    """Return the seconds of the parts that the log separates; the time before the server's first line is its start."""
    phases = {time.phase: time.seconds for time in timeline.phases}
    parts = {Part.SCAN: Phase.SCAN, Part.APPLY: Phase.APPLY}
    found = {frozenset({part}): seconds for part, phase in parts.items() if (seconds := phases[phase]) is not None}
    around = [phases[phase] for phase in (Phase.DISCOVER, Phase.OPEN, Phase.ACCEPT)]
    in_log = timeline.seconds_to_ready
    if in_log is not None and all(seconds is not None for seconds in around):
        found[frozenset({Part.OTHER})] = max(0.0, ready - in_log) + sum(seconds or 0.0 for seconds in around)
    rest = frozenset(Part) - frozenset().union(*found)
    return {**found, rest: max(0.0, ready - sum(found.values()))} if rest else found
