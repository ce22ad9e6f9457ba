"""What is asked about a server on a storage, and the prediction that a calibration gives for it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from redolab.errors import InvalidInput
from redolab.models.recovery_time.held_out import OF_MACHINES, HeldOut
from redolab.models.recovery_time.moments import PossibleCrash
from redolab.models.recovery_time.predict import Prediction, Until, prediction
from redolab.models.recovery_time.rollback import RollbackRate, slowest_of_family
from redolab.models.recovery_time.spread import Spread, of_a_sum, together
from redolab.models.recovery_time.stuck import THREAD_CLASSES, ChanceOfStuck, chance_of_stuck
from redolab.models.recovery_time.terms import DiskRates, Part
from redolab.models.recovery_time.work import Crash, Work
from redolab.models.sizes import SMALLEST_POOL
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Dialect, GetsStuck, Version, dialect_of, later_differ
from redolab.sizing.calibration import (
    CalibratedServer,
    CalibratedWorkload,
    Calibration,
    read_calibration,
    shipped_calibration,
)
from redolab.sizing.relatives import nearest_first
from redolab.storage.profiles import HOME
from redolab.units import GIB, format_chance, format_duration, format_size

_FAMILIES = {"mysql": "mysql", "percona": "mysql", "mariadb": "mariadb"}
_NAME = re.compile(r"(mysql|percona|mariadb)[- ]?(\d+\.\d+(?:\.\d+)?)", re.IGNORECASE)
_STALE = timedelta(days=365)
_BY_STORAGE = (HeldOut.STORAGE, HeldOut.UNSEEN_STORAGE, *OF_MACHINES)
_REDO = (GIB, 4 * GIB, 16 * GIB)
"""Bytes: one workload can be the slowest at 1 GiB, and another from 4 GiB on."""
_POOL_SHARES = (0.5, 1, 4)
"""Of the redo."""
BEYOND = 1.05
"""Times what was measured: what is larger goes beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """About which recoveries is asked; sizes in bytes."""

    server: str
    storage: str
    pool: int
    workload: str | None = None
    """Whose kind of redo it is, by the name of a workload that the calibration knows."""
    dirty_pages: int | None = None
    undo_rows: int | None = None
    tables: int | None = None
    read_threads: int | None = None
    """Its innodb_read_io_threads; None: the default on up to 8 CPUs."""
    until: Until = Until.READY
    """What ends the outage: with ROLLED_BACK predictions have the rollback of `undo_rows` in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What answers a question: everything but the size of the log."""

    question: Question
    calibration: Calibration
    dialect: Dialect
    server: CalibratedServer
    measured_as: str
    """The name of the calibrated server whose rates are taken."""
    disk: DiskRates
    storage: str
    workload: str
    learnt: CalibratedWorkload
    beyond: tuple[HeldOut, ...]
    """In which ways every prediction goes beyond what was measured."""
    warnings: tuple[str, ...]

    def worst_age(self, log_size: int) -> int:
        """Bytes: the checkpoint age at which statements wait, beyond which no load gets."""
        return self.dialect.capacity(self.dialect.layout(log_size)).hard_limit

    def check(self, log_size: int, age: int | None) -> None:
        """Raises `InvalidInput` for a log that the server cannot have, or more redo than the log can hold."""
        least, most = self.dialect.smallest_log, self.dialect.largest_log
        if not least <= log_size <= most:
            raise InvalidInput(
                f"{self.question.server} cannot have a redo log of {format_size(log_size)}",
                f"it takes {format_size(least)} to {format_size(most)}",
            )
        hard_limit = self.dialect.capacity(self.dialect.layout(log_size)).hard_limit
        if age is not None and not 0 < age <= hard_limit:
            raise InvalidInput(
                f"a checkpoint age of {format_size(age)} cannot be with a redo log of {format_size(log_size)}",
                f"statements wait at {format_size(hard_limit)}",
            )

    def crash(self, age: int) -> Crash:
        """A crash at that checkpoint age."""
        pages = self.question.dirty_pages
        # More than the pool holds is possible: recovery also reads pages that were written back since the checkpoint.
        typical = self.learnt.dirty_pages.at(age)
        return Crash(redo=age, dirty_pages=typical if pages is None else float(pages))

    def work(self, age: int) -> Work:
        """What a recovery after a crash at that age has to do."""
        return self.learnt.fitted.work(self.crash(age), self.question.pool)

    def at(self, log_size: int, age: int | None = None) -> Prediction:
        """The recovery after a crash at that age, to the end that is asked about; by default the worst."""
        crash = self.crash(self.worst_age(log_size) if age is None else age)
        parts = self.learnt.fitted.parts(crash, self.question.pool, self.disk)
        of_recovery = self.spread(log_size)
        summed = [(sum(parts.values()), of_recovery)]
        of_tables = (self.question.tables or 0) * self.server.seconds_per_table_on.get(self.storage, 0.0)
        if of_tables:
            parts[Part.OTHER] += of_tables
            summed.append((of_tables, self._tables_spread(of_recovery)))
        rollback = self.rollback_s() if self.question.until is Until.ROLLED_BACK else None
        if rollback:
            summed.append((rollback, self._rollback_spread(of_recovery)))
        return prediction(parts, of_a_sum(summed), rollback or 0.0)

    def crashes_at(self, log_size: int, ages: Sequence[int]) -> list[PossibleCrash]:
        """Crashes with a log of that size at these checkpoint ages in bytes, each as likely as the others."""
        chance, crashes = self.chance_of_stuck, []
        for age in ages:
            stuck = 0.0 if chance is None or not self.may_take_batches(age) else chance.mean
            expected = self.at(log_size, age)
            crashes.append(PossibleCrash(1.0, expected.seconds, expected.spread, stuck))
        return crashes

    @property
    def chance_of_stuck(self) -> ChanceOfStuck | None:
        """How likely a recovery with more than one batch never ends; None where none does, or nothing tells how often."""
        if not self._may_get_stuck or not self._measured_may_get_stuck:
            return None
        return chance_of_stuck(self.server.in_several_batches, self.workload, self.read_threads)

    @property
    def read_threads(self) -> int:
        """Return innodb_read_io_threads as given, else the version's default on a host with few CPUs."""
        return self.question.read_threads or self.dialect.default_read_threads(cpus=1)

    @property
    def _may_get_stuck(self) -> bool:
        """By the code of the version that is asked about, or as was seen of a server that recovers by the same."""
        return self.dialect.gets_stuck is not GetsStuck.NO or (
            HeldOut.SERVER not in self.beyond and self._measured_may_get_stuck
        )

    @property
    def _measured_may_get_stuck(self) -> bool:
        """By the code of the server whose rates are taken, or as was seen of it."""
        measured = dialect_of(self.server.family, Version.parse(self.server.version))
        seen = self.server.in_several_batches.few_threads.values()
        return measured.gets_stuck is not GetsStuck.NO or any(each.stuck for each in seen)

    def rollback_s(self) -> float | None:
        """Seconds of rollback of the rows asked about; None where none were, or their rate is not known."""
        rows, rate = self.question.undo_rows, self.rollback_rate()
        return None if rows is None or rate is None else rows / rate.rows_per_s

    def rollback_rate(self) -> RollbackRate | None:
        """How fast the server rolls back there, else the slowest of its family there; None where none was measured."""
        servers = self.calibration.servers
        rates = {name: each.rollback_on for name, each in servers.items()}
        families = {name: each.family for name, each in servers.items()}
        own = self.server.rollback_on.get(self.storage)
        return own or slowest_of_family(rates, families, self.measured_as, self.storage)

    def _rollback_spread(self, of_recovery: Spread) -> Spread:
        """Of the seconds of a rollback; as sure as the recovery where nothing else is known."""
        known = self.calibration.rollback_spreads
        is_own = self.storage in self.server.rollback_on and HeldOut.SERVER not in self.beyond
        machine = _to_machine(self.calibration, self.storage)
        ways = [*([] if is_own else [HeldOut.SERVER]), *([] if machine is None else [machine])]
        of_recoveries = self.calibration.spreads
        beyond = [
            known[way] if way in known else of_recoveries[way] for way in ways if way in known or way in of_recoveries
        ]
        return together(known.get(HeldOut.CRASH, of_recovery), beyond)

    def _tables_spread(self, of_recovery: Spread) -> Spread:
        """Of the seconds that tables add, of which another machine, or server, may be as far off as of the rest."""
        within, known = self.calibration.tables_spread, self.calibration.spreads
        if within is None:
            return of_recovery
        ways = [HeldOut.SERVER, _to_machine(self.calibration, self.storage)]
        return together(within, [known[way] for way in ways if way is not None and way in self.beyond and way in known])

    def until(self, end: Until) -> Model:
        """The same with another end."""
        return replace(self, question=replace(self.question, until=end))

    def with_read_threads(self, read_threads: int) -> Model:
        """The same with another number of read threads."""
        return replace(self, question=replace(self.question, read_threads=read_threads))

    def with_pool(self, pool: int) -> Model:
        """The same with another buffer pool."""
        return replace(self, question=replace(self.question, pool=pool))

    def on_storage(self, name: str) -> Model:
        """The same on another storage of the calibration."""
        way = way_to_storage(self.calibration, self.server.family, self.learnt, name)
        of_others = tuple(each for each in self.beyond if each not in _BY_STORAGE)
        ways = [each for each in (way, _to_machine(self.calibration, name)) if each is not None]
        disk = self.calibration.storages[name].disk
        return replace(self, storage=name, disk=disk, beyond=(*of_others, *ways))

    def one_batch(self, log_size: int) -> int:
        """Bytes of the buffer pool that certainly hold all redo of the worst crash at once."""
        return int(self.learnt.memory.surely_enough(self.crash(self.worst_age(log_size))))

    def may_take_batches(self, age: int) -> bool:
        """Whether a recovery after a crash at that age may take more than one batch."""
        return self.learnt.memory.surely_enough(self.crash(age)) > self.question.pool

    def beyond_at(self, log_size: int) -> list[str]:
        """How far a log of that size, or the pool, lies beyond what was measured, in words."""
        said = []
        least, most = self.learnt.log_sizes
        if log_size > most * BEYOND:
            times = f"{log_size / most:.1f}".removesuffix(".0")
            said.append(f"{format_size(log_size)} is {times} times the largest log measured, {format_size(most)}")
        elif log_size > self.learnt.sure_up_to * BEYOND:
            said.append(f"few crashes with logs of more than {format_size(self.learnt.sure_up_to)} were measured")
        least, most = self.learnt.pools
        if not least / BEYOND <= self.question.pool <= most * BEYOND:
            said.append(f"pools of {span(self.learnt.pools)} were measured, not {format_size(self.question.pool)}")
        return [*said, *self.of_stuck(log_size)]

    def of_stuck(self, log_size: int) -> list[str]:
        """What is to be known where a recovery with a log of that size may get stuck, as it may take several batches."""
        if not self._may_get_stuck or not self.may_take_batches(self.worst_age(log_size)):
            return []
        asked, chance = self.question.server, self.chance_of_stuck
        may = f"a recovery of {asked} with more than one batch may get stuck for ever (docs/results/stuck.md has the way out)"
        if chance is None:
            return [f"{may}: how often was not measured"]
        said = [f"{may}: {in_words(chance)}"]
        if self.dialect.gets_stuck is GetsStuck.NOT_KNOWN:
            said.append(f"whether {asked} gets stuck as {self.server.version} does was not tried")
        if self.question.read_threads is None:
            said.append(
                f"innodb_read_io_threads = {self.read_threads} is assumed, the default on up to 8 CPUs; on more it is CPUs / 2: "
                "--read-io-threads N"
            )
        return said

    def spread(self, log_size: int) -> Spread:
        """How far a prediction for a log of that size may be off, with every way in which it goes beyond what was measured."""
        known = self.calibration.spreads
        ways = list(self.beyond)
        least, most = self.learnt.pools
        if not least / BEYOND <= self.question.pool <= most * BEYOND:
            ways.append(HeldOut.POOL)
        beyond = [known[way] for way in ways if way in known]
        largest = self.learnt.sure_up_to
        if log_size > largest * BEYOND and HeldOut.LOG_SIZE in known:
            beyond.append(known[HeldOut.LOG_SIZE].at(math.log2(log_size / largest)))
        return together(known[HeldOut.CRASH], beyond)


def model_for(question: Question) -> Model:
    """What answers a question. Raises `InvalidInput`, which says what there is to choose from."""
    return model_of(question, *_calibration(question.storage))


def model_of(question: Question, calibration: Calibration, storage: str) -> Model:
    """What answers a question from this calibration, about a storage of it. Raises `InvalidInput`."""
    if question.pool < SMALLEST_POOL:
        raise InvalidInput(
            f"a buffer pool of {format_size(question.pool)} is too small",
            f"give it {format_size(SMALLEST_POOL)} or more",
        )
    family, version, dialect = _asked_server(question.server)
    measured_as, server = _nearest(calibration, question.server, dialect)
    beyond = [] if measured_as == question.server or _is_alike(family, version, server) else [HeldOut.SERVER]
    warnings = _of_version(question.server, family, version, measured_as, server)
    disk = _disk(calibration, storage)
    workload = question.workload or slowest_workload(server)
    if workload not in server.workloads:
        known = ", ".join(server.workloads)
        raise InvalidInput(f"the calibration knows no workload '{workload}' of {measured_as}", f"choose from {known}")
    learnt = server.workloads[workload]
    if (way := way_to_storage(calibration, server.family, learnt, storage)) is not None:
        if way not in calibration.spreads:
            raise InvalidInput(
                f"no recovery of {measured_as} on {storage} was measured under {workload}, and how far a prediction from another "
                "storage is off is not known yet",
                f"choose from {', '.join(learnt.storages)}, or 'make experiment calibrate SERVER={measured_as} STORAGE={storage}'",
            )
        beyond.append(way)
        warnings.append(
            f"no recovery of {measured_as} on {storage} was measured under {workload}: it is predicted from the figures of the disk"
        )
    if (to_machine := _to_machine(calibration, storage)) is not None:
        beyond.append(to_machine)
        times = _listed(
            f"{each:.1f}"
            for each in sorted(one.times[to_machine] for one in calibration.other_machines if to_machine in one.times)
        )
        warnings.append(
            f"calibrated on redolab's machines, not on yours: recoveries of machines left out took {times} times as long as predicted, and "
            f"the upper end allows for that{_not_for(storage)} ('make experiment calibrate SERVER={measured_as}' on yours makes it "
            "narrower)"
        )
    if datetime.now(UTC) - calibration.made > _STALE:
        warnings.append(
            f"the calibration is of {calibration.made:%Y-%m-%d}: servers, kernel and disk may be others by now"
        )
    if question.until is Until.ROLLED_BACK and question.undo_rows is None:
        raise InvalidInput(
            "how long a rollback takes depends on its rows",
            "--undo-rows N: those that your largest transaction changes",
        )
    if question.tables is not None and storage not in server.seconds_per_table_on:
        known = "".join(
            f"; on {name} {question.tables:,} add {format_duration(question.tables * seconds)}"
            for name, seconds in server.seconds_per_table_on.items()
        )
        warnings.append(
            f"what a table adds to a recovery of {measured_as} on {storage} was not measured: its time is left out{known}"
        )
    model = Model(
        question=question,
        calibration=calibration,
        dialect=dialect,
        server=server,
        measured_as=measured_as,
        disk=disk,
        storage=storage,
        workload=workload,
        learnt=learnt,
        beyond=tuple(beyond),
        warnings=tuple(warnings),
    )
    if question.undo_rows is None:
        return model
    return replace(model, warnings=(*warnings, *_of_rollback(model, question.undo_rows)))


def span(sizes: Iterable[int]) -> str:
    """As in `256M to 1G`, or `1G` where all are one."""
    known = set(sizes)
    return " to ".join(format_size(size) for size in dict.fromkeys((min(known), max(known))))


def in_words(chance: ChanceOfStuck) -> str:
    """As in `chance to get stuck 12 % (95 %: 5 % to 24 %; 26 of 108 recoveries in several batches, of 29 crashes, under …)`."""
    low, mean, high = (format_chance(each) for each in (chance.low, chance.mean, chance.high))
    few, more = chance.few_threads, chance.more_threads
    seen = (
        f"{few.stuck} of {few.recoveries} recoveries in several batches, of {few.crashes} crashes, under "
        f"{' and '.join(chance.workloads)} with fewer than {THREAD_CLASSES[1]} read threads"
    )
    if more is None:
        return f"chance to get stuck {mean} (95 %: {low} to {high}; {seen})"
    of_those = (
        f"with {chance.at_least} or more {more.stuck} of {more.recoveries} of crashes and pools that then got stuck"
    )
    return f"chance to get stuck {mean} (95 %: {low} to {high}; {seen}; {of_those})"


def _of_rollback(model: Model, rows: int) -> list[str]:
    """What is to be known of the time of a rollback. Raises `InvalidInput` where it is asked for and nothing tells it."""
    rate, there = model.rollback_rate(), f"of {model.measured_as} on {model.storage}"
    if rate is None and model.question.until is Until.ROLLED_BACK:
        raise InvalidInput(f"no large rollback {there} was measured", "ask --until ready")
    if rate is None:
        return [f"no large rollback {there} was measured: its time is left out"]
    said = []
    if model.storage not in model.server.rollback_on:
        said.append(f"no large rollback {there} was measured: taken is the slowest of its family")
    if rows > rate.most_rows * BEYOND:
        said.append(
            f"a rollback of {rows:,} rows is beyond those measured there, up to {rate.most_rows:,} rows in the order of the primary "
            "key: one whose pages do not fit into the pool takes longer for each row, and the interval does not allow for it"
        )
    return said


def way_to_storage(calibration: Calibration, family: str, learnt: CalibratedWorkload, storage: str) -> HeldOut | None:
    """In which way a prediction for a storage goes beyond what was measured of a server under a workload; None if it does not."""
    if storage in learnt.storages:
        return None
    if storage in storages_of_family(calibration, family) and HeldOut.STORAGE in calibration.spreads:
        return HeldOut.STORAGE
    return HeldOut.UNSEEN_STORAGE if HeldOut.UNSEEN_STORAGE in calibration.spreads else HeldOut.STORAGE


def _to_machine(calibration: Calibration, storage: str) -> HeldOut | None:
    """In which way a prediction goes to another machine than the calibration's; None of a calibration of one's own."""
    way = HeldOut.MACHINE if storage == HOME else HeldOut.LIMITED
    return way if way in calibration.spreads else None


def storages_of_family(calibration: Calibration, family: str) -> list[str]:
    """The storages on which a server of that family was measured, under whatever workload."""
    servers = [each for each in calibration.servers.values() if each.family == family]
    return list(
        dict.fromkeys(name for each in servers for learnt in each.workloads.values() for name in learnt.storages)
    )


def _calibration(asked: str) -> tuple[Calibration, str]:
    """The calibration to use, and the storage in it: `PROFILE`, `FILE` or `FILE:STORAGE`."""
    path, _, name = asked.partition(":")
    if not (path.endswith(".json") or Path(path).is_file()):
        return shipped_calibration(), asked
    calibration = read_calibration(Path(path))
    measured = list(calibration.storages)
    if name or len(measured) == 1:
        if name and name not in measured:
            raise InvalidInput(f"{path} has no storage '{name}'", f"choose from {', '.join(measured)}")
        return calibration, name or measured[0]
    raise InvalidInput(
        f"{path} has several storages", f"choose one, as in {path}:{measured[0]} (of {', '.join(measured)})"
    )


def _asked_server(name: str) -> tuple[str, Version, Dialect]:
    """Family, version and dialect of a server of the catalogue, or of a family and version. Raises `InvalidInput`."""
    catalogue = server_catalogue()
    if name in catalogue.names():
        entry = catalogue.get(name)
        return entry.family, Version.parse(entry.version), entry.dialect()
    match = _NAME.fullmatch(name)
    if match is None:
        known = ", ".join(catalogue.names())
        raise InvalidInput(
            f"there is no server '{name}'", f"choose from {known}, or a version as in mysql-8.4.3, percona-8.0.36"
        )
    family, version = _FAMILIES[match[1].lower()], Version.parse(match[2])
    if match[2].count(".") == 1 and later_differ(family, version):
        raise InvalidInput(f"releases of {name} recover, or are resized, in different ways", "give yours in full")
    return family, version, dialect_of(family, version)


def _nearest(calibration: Calibration, name: str, dialect: Dialect) -> tuple[str, CalibratedServer]:
    """The calibrated server of that name, else the likest of its family. Raises `InvalidInput`."""
    servers = calibration.servers
    if name in servers:
        return name, servers[name]
    relatives = nearest_first(
        dialect, {each: dialect_of(server.family, Version.parse(server.version)) for each, server in servers.items()}
    )
    if not relatives:
        raise InvalidInput(
            f"the calibration has no server like {name}",
            f"it has {', '.join(servers)}: 'make experiment calibrate SERVER={name}'",
        )
    return relatives[0], servers[relatives[0]]


def slowest_workload(server: CalibratedServer) -> str:
    """The workload whose redo takes the longest, over several amounts and pools: few answers are to be too short."""
    usual = DiskRates(read_us=100, write_us=100, queued_reads_per_s=30_000, in_order_mb_s=500, sequential_mb_s=1000)

    def slowness(name: str) -> float:
        each = server.workloads[name]
        return math.fsum(
            math.log(each.fitted.ready(Crash(redo=redo, dirty_pages=each.dirty_pages.at(redo)), redo * share, usual))
            for redo in _REDO
            for share in _POOL_SHARES
        )

    return max(server.workloads, key=slowness)


def _is_alike(family: str, version: Version, server: CalibratedServer) -> bool:
    """Whether a version recovers as a calibrated server does: it is of its series, with its recovery code."""
    measured = Version.parse(server.version)
    if (family, version.major, version.minor) != (server.family, measured.major, measured.minor):
        return False
    return dialect_of(family, version).recovery_code == dialect_of(family, measured).recovery_code


def _of_version(asked: str, family: str, version: Version, measured_as: str, server: CalibratedServer) -> list[str]:
    """What is to be known of a prediction where the asked version is not the measured one, or may not be the user's."""
    said = []
    if measured_as != asked and not _is_alike(family, version, server):
        said.append(f"{asked} was not measured: the rates are those of {measured_as} ({server.version})")
    elif version.patch and str(version) != str(Version.parse(server.version)):
        said.append(f"measured was {server.version}, not {version}")
    named = _NAME.fullmatch(asked)
    if named is not None and named[2].count(".") == 1 and later_differ(family, version):
        said.append(
            f"{asked} is {version} here, and later ones recover, or are resized, in other ways: give yours in full"
        )
    return said


def _not_for(storage: str) -> str:
    return ", not for a slower disk than the project's own" if storage == HOME else ""


def _disk(calibration: Calibration, storage: str) -> DiskRates:
    """What fio found of a storage. Raises `InvalidInput` for one that it has not looked at."""
    if storage in calibration.storages:
        return calibration.storages[storage].disk
    known = ", ".join(calibration.storages)
    raise InvalidInput(
        f"nothing is known of recoveries on '{storage}'",
        f"choose from {known}, or measure it: 'make experiment calibrate STORAGE={storage}'",
    )


def _listed(words: Iterable[str]) -> str:
    """As in `1.0, 1.1 and 1.6`."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
