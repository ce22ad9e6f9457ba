"""Blocks of a Prometheus with synthetic servers, in the form of mysqld_exporter: the data of `benchmarks.fleet`.

Each server writes with a daily wave, noise, a restart now and then, and gaps. Changing values are scraped once a
minute for the whole time. Settings, which are read at the end only, are scraped for the last two hours.
"""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from redolab.units import GIB, MIB

EVERY = 60
"""Seconds between two scrapes."""
BLOCK = 54 * 3600
"""Seconds of a block of Prometheus that is compacted twice."""
_DAY = 86400
_SETTINGS = 2 * 3600
_RESTARTS = 1 / (20 * _DAY)
"""Restarts a second."""
_KINDS = (
    ("9.7.0", "MySQL Community Server - GPL"),
    ("8.4.3", "MySQL Community Server - GPL"),
    ("8.0.36", "MySQL Community Server - GPL"),
    ("8.0.28", "MySQL Community Server - GPL"),
    ("11.8.3-MariaDB-log", "mariadb.org binary distribution"),
    ("10.11.6-MariaDB-log", "mariadb.org binary distribution"),
)
_STATUS = "mysql_global_status_"
_VARIABLES = "mysql_global_variables_"
_METRICS = "mysql_info_schema_innodb_metrics_log_"


@dataclass(frozen=True, slots=True)
class SyntheticServer:
    """A server of the fleet; sizes in bytes."""

    number: int

    @property
    def labels(self) -> str:
        """Labels as in an exporter's scrape; `slice`: the smallest of 10, 100 and 1000 servers with this one."""
        slices = next((size for size in (10, 100, 1000) if self.number < size), 10_000)
        return f'instance="db-{self.number:04}:9104",job="mysql",slice="{slices}"'

    @property
    def kind(self) -> tuple[str, str]:
        """Version and its comment."""
        return _KINDS[self.number % len(_KINDS)]

    @property
    def log_size(self) -> int:
        """Size of the redo log."""
        return (1, 2, 4, 8)[self.number // 7 % 4] * GIB

    @property
    def pool(self) -> int:
        """Size of the buffer pool."""
        return (4, 8, 16, 32, 64)[self.number // 3 % 5] * GIB

    @property
    def bytes_per_second(self) -> float:
        """Mean rate of redo: 0.1 to 3 MiB a second."""
        return float(MIB * 0.1 * 30 ** (self.number * 0.618 % 1))

    def series(self, times: npt.NDArray[np.int64], first: int) -> Mapping[str, npt.NDArray[np.int64]]:
        """Return the values of each metric at the times, in whole numbers; `first`: the time at which all began."""
        random = np.random.default_rng(self.number)
        minutes = (times - first) // EVERY
        wave = 1 + 0.8 * np.sin(2 * np.pi * times / _DAY + self.number)
        noise = 1 + 0.3 * np.sin(minutes * 12.9898 + self.number)
        # The integral of the wave, so that each block goes on where the one before ended.
        ends = (
            0.8
            * _DAY
            / (2 * np.pi)
            * (np.cos(2 * np.pi * first / _DAY + self.number) - np.cos(2 * np.pi * times / _DAY + self.number))
        )
        lsn = 10**12 + self.bytes_per_second * (times - first + ends)
        age = np.minimum(0.75 * self.log_size, 0.45 * self.log_size * wave * noise)
        starts = np.sort(
            np.concatenate(
                [[first - 40 * _DAY], first + random.uniform(0, 60 * _DAY, random.poisson(60 * _DAY * _RESTARTS))]
            )
        )
        uptime = times - starts[np.searchsorted(starts, times, side="right") - 1]
        version = self.kind[0]
        values = {f"{_STATUS}uptime": uptime}
        if "MariaDB" in version:
            values |= {f"{_STATUS}innodb_lsn_current": lsn, f"{_STATUS}innodb_checkpoint_age": age}
        elif version == "8.0.28":
            values |= {f"{_METRICS}log_lsn_current": lsn, f"{_METRICS}log_lsn_last_checkpoint": lsn - age}
        else:
            values |= {
                f"{_STATUS}innodb_redo_log_current_lsn": lsn,
                f"{_STATUS}innodb_redo_log_checkpoint_lsn": lsn - age,
            }
        return {name: each.astype(np.int64) for name, each in values.items()}

    def settings(self) -> Mapping[str, int]:
        """Return the value of each metric, whose key includes the labels."""
        version, comment = self.kind
        info = f'mysql_version_info{{{self.labels},innodb_version="{version}",version="{version}",version_comment="{comment}"}}'
        sizes = {
            "innodb_buffer_pool_size": self.pool,
            "innodb_read_io_threads": 4,
            "log_bin": 1,
        }
        if "MariaDB" in version:
            sizes["innodb_log_file_size"] = self.log_size
        elif version == "8.0.28":
            sizes |= {"innodb_log_file_size": self.log_size // 2, "innodb_log_files_in_group": 2}
        else:
            sizes["innodb_redo_log_capacity"] = self.log_size
        dirty = f'{_STATUS}buffer_pool_pages{{{self.labels},state="dirty"}}'
        return {
            info: 1,
            dirty: 20_000,
            **{f"{_VARIABLES}{name}{{{self.labels}}}": size for name, size in sizes.items()},
        }


def write_blocks(promtool: Path, folder: Path, servers: Sequence[SyntheticServer], first: int, last: int) -> None:
    """Make `promtool` write the blocks of all servers from `first` to `last` (seconds since 1970) into `folder`."""
    text = folder.with_name("openmetrics.txt")
    begins = [first, *range(first - first % BLOCK + BLOCK, last, BLOCK)]
    try:
        for begin, end in zip(begins, [*begins[1:], last], strict=True):
            with text.open("w") as file:
                for server in servers:
                    file.writelines(_lines(server, begin, end, first, last))
                file.write("# EOF\n")
            command = ["tsdb", "create-blocks-from", "openmetrics", "--quiet", f"--max-block-duration={BLOCK // 3600}h"]
            subprocess.run([str(promtool), *command, str(text), str(folder)], check=True)
    finally:
        text.unlink(missing_ok=True)


def _lines(server: SyntheticServer, begin: int, end: int, first: int, last: int) -> Iterator[str]:
    times = np.arange(begin + -begin % EVERY, end, EVERY)
    # A gap of two hours in every tenth server.
    if server.number % 10 == 0:
        gap = first + zlib.crc32(server.labels.encode()) % (last - first)
        times = times[(times < gap) | (times > gap + 2 * 3600)]
    stamps = times.tolist()
    for name, values in server.series(times, first).items():
        head = f"{name}{{{server.labels}}}"
        yield "".join([f"{head} {value} {at}\n" for value, at in zip(values.tolist(), stamps, strict=True)])
    recent = [at for at in stamps if at >= last - _SETTINGS]
    for head, value in server.settings().items():
        yield "".join([f"{head} {value} {at}\n" for at in recent])
