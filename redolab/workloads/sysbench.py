"""sysbench: its own write workload, ours written for it, and the loading of its tables."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from redolab.errors import WorkloadFailed
from redolab.hosts import Command, Host, Process
from redolab.project import PROJECT
from redolab.servers.dialects import SOCKET
from redolab.tools import Tool, Tools
from redolab.workloads import DATABASE, RunningWorkload, Tables

SCRIPTS = PROJECT.provision / "workloads"
_REPORT = re.compile(r"tps: ([\d.]+)")
_LAST_LINES = 8
# What a write that meets another, or a lock held for long, ends in; the clients go on with the next.
_LOCK_CONFLICTS = "1020,1205,1213"


class SysbenchRun(RunningWorkload):
    """A sysbench that runs."""

    def __init__(self, host: Host, process: Process) -> None:
        self._host = host
        self._process = process
        self._said: list[str] = []
        self._rate: float | None = None

    def _listen(self) -> None:
        for line in self._process.lines(self._host.now().monotonic):
            self._said.append(line.text)
            if match := _REPORT.search(line.text):
                self._rate = float(match[1])

    def commits_per_second(self) -> float | None:
        """See `RunningWorkload`."""
        self._listen()
        return self._rate

    def check_running(self) -> None:
        """See `RunningWorkload`."""
        status = self._process.wait(0)
        if status is not None:
            self._listen()
            raise WorkloadFailed(
                f"sysbench ended by itself with status {status}",
                "its last lines are below",
                self._said[-_LAST_LINES:],
            )


class SysbenchWorkload(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="sysbench"
):
    """A sysbench script: one of its own, or a file of the project's."""

    script: str
    about: str

    def content(self) -> str:
        """See `Workload`."""
        return (SCRIPTS / self.script).read_text() if self.script.endswith(".lua") else self.script

    @contextmanager
    def run(
        self, host: Host, tools: Tools, instance: Path, tables: Tables, threads: int, output: Path
    ) -> Iterator[RunningWorkload]:
        """See `Workload`."""
        sysbench = tools.get("sysbench")
        ours = self.script.endswith(".lua")
        script = SCRIPTS / self.script if ours else _script_of_its_own(sysbench, self.script)
        arguments = [
            *connection_arguments(sysbench, script, threads),
            *_table_arguments(tables),
            *(
                "--time=0",
                "--events=0",
                "--report-interval=1",
                f"--mysql-ignore-errors={_LOCK_CONFLICTS}",
                "run",
            ),
        ]
        process = host.start(Command(arguments, folder=instance, environment=sysbench.environment), output)
        try:
            yield SysbenchRun(host, process)
        finally:
            process.stop(signal.SIGKILL)


def load_tables(host: Host, tools: Tools, instance: Path, tables: Tables, threads: int, output: Path) -> Process:
    """Start filling sysbench's tables, each by one of the threads; the caller waits for its end."""
    sysbench = tools.get("sysbench")
    script = _script_of_its_own(sysbench, "oltp_write_only")
    arguments = [*connection_arguments(sysbench, script, threads), *_table_arguments(tables), "prepare"]
    return host.start(Command(arguments, folder=instance, environment=sysbench.environment), output)


def _script_of_its_own(sysbench: Tool, name: str) -> Path:
    # bin/sysbench and share/sysbench stand side by side, wherever the package was unpacked.
    return sysbench.program.parent.parent / "share/sysbench" / f"{name}.lua"


def _table_arguments(tables: Tables) -> list[str]:
    return [f"--tables={tables.count}", f"--table-size={tables.rows}"]


def connection_arguments(sysbench: Tool, script: Path, threads: int) -> list[str]:
    """The beginning of a command line: so many clients that run `script` against the instance in whose folder it runs."""
    return [
        *(str(sysbench.program), str(script)),
        # Relative to the instance's folder, in which sysbench runs: a socket's address may have 107 bytes only.
        *(f"--mysql-socket={SOCKET}", "--mysql-user=root", f"--mysql-db={DATABASE}"),
        f"--threads={threads}",
    ]
