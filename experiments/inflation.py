"""How far is Innodb_os_log_written from the growth of the LSN, what does it count, and what reaches the disk?"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass

import msgspec

from redolab.errors import DiskFull, InvalidInput
from redolab.experiments import Experiment, factor, on_or_off, server_names, several, whole_number, words
from redolab.inflation import (
    BUFFER_POOL,
    InflationCell,
    InflationPlan,
    Recorder,
    UsedInstance,
    disk_size,
    measure_server,
)
from redolab.lab import open_lab, server_catalogue
from redolab.machine import read_machine
from redolab.progress import Progress
from redolab.recovery_run import check_memory
from redolab.report.inflation_report import report
from redolab.reporting import reported
from redolab.results import Run, RunStore, lab_commit
from redolab.units import MIB, format_duration, format_size, parse_size

SMALLEST_LOG = 64 * MIB
"""Less would have to be flushed for while rows are inserted."""
_BESIDE_THE_LOG = 1024 * MIB
# Measured, in seconds: what a trial takes beside its load, and a server to be made and started twice.
_TRIAL = 1.3
_SERVER = 12.0


@dataclass(frozen=True, kw_only=True)
class Factors:
    """What can be chosen; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "all")
    trx_commit: tuple[int, ...] = factor(
        "Values of innodb_flush_log_at_trx_commit, with commas.", several(whole_number(0, 2)), "1,2,0"
    )
    threads: tuple[int, ...] = factor("Numbers of clients, with commas.", several(whole_number(1, 64)), "1,4,16,64")
    row_bytes: tuple[int, ...] = factor(
        "Bytes of data in a row, with commas.", several(whole_number(1, 60_000)), "100,10,500,2000"
    )
    rows: tuple[int, ...] = factor("Rows of a transaction, with commas.", several(whole_number(1, 1000)), "1,10")
    binary_log: tuple[bool, ...] = factor(
        "The binary log: off, on, or both with a comma.", several(on_or_off), "off,on"
    )
    cross: bool = factor(
        "off: from the first value of every factor, one factor at a time is changed; on: every combination.",
        on_or_off,
        "off",
    )
    repeat: int = factor("How often each cell is measured.", whole_number(1, 100), "3")
    seconds: int = factor("For how many seconds rows are inserted for each.", whole_number(1, 3600), "1")
    log_size: int = factor("Redo log size.", parse_size, "512M")

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        if self.log_size < SMALLEST_LOG:
            raise InvalidInput(
                f"a redo log of {format_size(self.log_size)} is too small",
                f"give it {format_size(SMALLEST_LOG)} or more",
            )
        for name in self.server:
            if self.log_size > server_catalogue().get(name).dialect().largest_log:
                raise InvalidInput(
                    f"a redo log of {format_size(self.log_size)} is too large for {name}", "choose a smaller one"
                )

    def cells(self) -> list[InflationCell]:
        """The cells of one server."""
        values: dict[str, tuple[object, ...]] = {
            "trx_commit": self.trx_commit,
            "threads": self.threads,
            "row_bytes": self.row_bytes,
            "rows_per_transaction": self.rows,
            "binary_log": self.binary_log,
        }
        if self.cross:
            combinations = (dict(zip(values, each, strict=True)) for each in itertools.product(*values.values()))
            return [msgspec.convert(combination, InflationCell) for combination in combinations]
        first = {name: each[0] for name, each in values.items()}
        changed = [{**first, name: value} for name, each in values.items() for value in each[1:]]
        return [msgspec.convert(combination, InflationCell) for combination in (first, *changed)]


def run(factors: Factors, progress: Progress) -> None:
    """Measure every cell on every server, and show the table."""
    factors.check()
    store = RunStore()
    cells = factors.cells()
    trials = len(cells) * factors.repeat
    with open_lab(progress, store.clear_unfinished) as lab:
        home = lab.home
        needed = disk_size(factors.log_size) + _BESIDE_THE_LOG
        if needed > (free := lab.host.files.free_space(home)):
            raise DiskFull(
                f"a server with a redo log of {format_size(factors.log_size)} needs about {format_size(needed)} and the disk "
                f"under {home} has {format_size(free)} free",
                "choose a smaller LOGSIZE",
            )
        check_memory(lab.host, home, [BUFFER_POOL])
        servers = [lab.server(name) for name in factors.server]
        whole = len(servers) * (trials * (factors.seconds + _TRIAL) + _SERVER)
        progress.note(
            f"{len(cells)} cells × {factors.repeat} on {len(servers)} server{'s' * (len(servers) > 1)}: "
            f"about {format_duration(whole)}"
        )
        given = {name: words(value) for name, value in asdict(factors).items()}
        record = store.create(
            "inflation", given, read_machine(lab.host, home), lab_commit(lab.host), lab.tools.versions()
        )
        with store.running(record, progress.seconds), reported(lab, record, report):
            began = lab.host.now().monotonic
            for place, server in enumerate(servers):
                plan = InflationPlan(server, cells, factors.repeat, factors.seconds, factors.log_size)
                with progress.stage(f"inserting into {server.name}", "measure") as stage:
                    for done in measure_server(lab, home, plan, _recorder(record), stage):
                        so_far = place * trials + done
                        left = (lab.host.now().monotonic - began) / so_far * (len(servers) * trials - so_far)
                        stage.advance(done, trials, f"{done} of {trials} trials · {format_duration(left)} left in all")


def _recorder(run: Run) -> Recorder:
    def keep(name: str, used: UsedInstance) -> None:
        folder = run.folder / "instances"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(used)))

    return Recorder(trial=run.add_trial, instance=keep, log=run.log)


EXPERIMENT = Experiment(question=__doc__.strip(), factors=Factors, run=run, report=report)
