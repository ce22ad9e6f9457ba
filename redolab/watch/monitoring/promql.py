"""Expressions that the lab sends to a Prometheus, and the names of the metrics in them.

Names are those of mysqld_exporter 0.14 to 0.19 and of PMM's exporter, which adds a `service_name`. `instance` and
`service_name` identify a server; with PMM, `instance` is the agent's id. All expressions give one series for each
server.

The LSN is no counter to Prometheus. It goes on across restarts. It goes back only if the data directory is replaced,
or by some KB if MariaDB reads it while it is written: `increase` would take either for a reset and add the whole LSN.
The expressions therefore use `delta`, and only over windows in which the server was not restarted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

NAME = "__name__"
IDENTITY = ("instance", "service_name")
_BY = f"({', '.join(IDENTITY)})"
_STATUS, _VARIABLES = "mysql_global_status_", "mysql_global_variables_"
_METRICS = "mysql_info_schema_innodb_metrics_"
_REDO = (
    # MySQL and Percona Server 8.0.30 and later.
    (f"{_STATUS}innodb_redo_log_current_lsn", f"{_STATUS}innodb_redo_log_checkpoint_lsn"),
    # MariaDB 10.5 and later, Percona Server; of PMM's exporter from 2026 on every server.
    (f"{_STATUS}innodb_lsn_current", f"{_STATUS}innodb_lsn_last_checkpoint"),
    # --collect.info_schema.innodb_metrics and innodb_monitor_enable='log_%': MySQL 8.0, then 5.6 and 5.7 and MariaDB.
    (f"{_METRICS}log_log_lsn_current", f"{_METRICS}log_log_lsn_last_checkpoint"),
    (f"{_METRICS}recovery_log_lsn_current", f"{_METRICS}recovery_log_lsn_last_checkpoint"),
)
"""Metrics of the LSN and of the last checkpoint's LSN, by source; the first source that a server has counts."""
_AGE = f"{_STATUS}innodb_checkpoint_age"
_OS_LOG_WRITTEN = f"{_STATUS}innodb_os_log_written"
_LOG_WRITES = f"{_STATUS}innodb_log_writes"
_UPTIME = f"{_STATUS}uptime"
_DIRTY = (f'{_STATUS}buffer_pool_pages{{state="dirty"', f"{_STATUS}buffer_pool_dirty_pages{{")
"""Metric of upstream's exporter and of PMM's, up to the place of further matchers."""
_TABLESPACES = "mysql_info_schema_innodb_tablespace_space_info"
_TABLES = "mysql_info_schema_table_version"
_LOG_SIZES = (f"{_VARIABLES}innodb_redo_log_capacity", f"{_VARIABLES}innodb_log_file_size")
_LOOKS = 720
"""Number of times that a setting which rarely changes is read: once an hour of 30 days."""
_STEPS = 12
"""Number of steps by which a window moves on by its own length."""
_COARSER = 3
"""Multiple of that step at which samples are counted."""
_LATELY = "1h"
"""Age after which a server without a scrape counts as gone."""

VARIABLES = (
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_redo_log_capacity",
    "innodb_log_write_ahead_size",
    "innodb_read_io_threads",
    "log_bin",
    "max_binlog_size",
)
"""Settings, as the servers name them."""
STATUS = ("innodb_redo_log_capacity_resized", "innodb_os_log_written", "uptime")
"""Status variables whose last value is read."""


class Expressions:
    """The expressions about the servers that some matchers choose, as in `environment="prod"`; with "" about all.

    A peak is the largest growth within `window` seconds, over the `length` seconds before the query's time.
    """

    def __init__(self, matchers: str = "") -> None:
        self._matchers = matchers

    def versions(self) -> str:
        """Return the expression for all servers, with their labels and their version."""
        return f"last_over_time({self._of('mysql_version_info')}[{_LATELY}])"

    def settings(self) -> str:
        """Return the expression for settings and status variables at the end, by the metric's name."""
        names = "|".join([*(f"{_VARIABLES}{name}" for name in VARIABLES), *(f"{_STATUS}{name}" for name in STATUS)])
        return f"max by ({NAME}, {', '.join(IDENTITY)}) (last_over_time({self._of_names(names)}[{_LATELY}]))"

    def dirty_pages(self, seconds: float) -> str:
        """Return the expression for the largest number of dirty pages scraped."""
        names = [f"{head}{self._further(head)}}}" for head in _DIRTY]
        return f"max by {_BY} ({self._first(lambda name: f'max_over_time({name}[{round(seconds)}s])', names)})"

    def tables(self) -> str:
        """Return the expression for the number of tables, by InnoDB tablespaces, else by information_schema.tables."""
        counts = [f"count by {_BY} (last_over_time({self._of(name)}[{_LATELY}]))" for name in (_TABLESPACES, _TABLES)]
        return " or ".join(counts)

    def ages(self) -> str:
        """Return the expression for the checkpoint age, in bytes."""
        differences = [f"({self._of(lsn)} - {self._of(checkpoint)})" for lsn, checkpoint in _REDO]
        return f"max by {_BY} ({' or '.join([self._of(_AGE), *differences])})"

    def peak_redo(self, length: float, window: float) -> str:
        """Return the expression for the peak of the LSN, in bytes."""
        return self._peak("delta", [lsn for lsn, _ in _REDO], length, window)

    def peak_os_log_written(self, length: float, window: float) -> str:
        """Return the expression for the peak of Innodb_os_log_written, in bytes."""
        return self._peak("increase", [_OS_LOG_WRITTEN], length, window)

    def peak_log_writes(self, length: float, window: float) -> str:
        """Return the expression for the peak of the number of log writes."""
        return self._peak("increase", [_LOG_WRITES], length, window)

    def hours_of_os_log_written(self, share: float) -> str:
        """Return the expression for a quantile of the bytes of Innodb_os_log_written an hour, over seven days.

        `share`: of the hours that stay below it, 0 to 1. PMM's advisor uses it.
        """
        return f"max by {_BY} (quantile_over_time({share}, increase({self._of(_OS_LOG_WRITTEN)}[1h])[7d:5m]))"

    def covered(self, length: float, window: float) -> str:
        """Return the expression for the seconds with an LSN or an Innodb_os_log_written, to a quarter of the window."""
        any_of = self._first(self._of, [*(lsn for lsn, _ in _REDO), _OS_LOG_WRITTEN])
        step = max(1, round(_COARSER * window / _STEPS))
        return f"max by {_BY} (count_over_time(({any_of})[{max(1, round(length))}s:{step}s])) * {step}"

    def resized(self, seconds: float) -> str:
        """Return the expression for the number of changes of the redo log's size."""
        subquery = f"[{round(seconds)}s:{max(1, round(seconds / _LOOKS))}s]"
        return f"max by {_BY} ({self._first(lambda name: f'changes({self._of(name)}{subquery})', _LOG_SIZES)})"

    def _peak(self, function: str, names: Sequence[str], length: float, window: float) -> str:
        grown = self._first(lambda name: f"{function}({self._of(name)}[{round(window)}s])", names)
        alive = f"({grown}) and on {_BY} {self._of(_UPTIME)} > {round(window)}"
        if length <= window:
            return f"max by {_BY} ({alive})"
        # The first window begins where the period does.
        subquery = f"[{max(1, round(length - window))}s:{max(1, round(window / _STEPS))}s]"
        return f"max by {_BY} (max_over_time(({alive}){subquery}))"

    def _first(self, expression_of: Callable[[str], str], names: Sequence[str]) -> str:
        return " or ".join(expression_of(name) for name in names)

    def _of(self, name: str) -> str:
        return f"{name}{{{self._matchers}}}" if self._matchers else name

    def _of_names(self, names: str) -> str:
        return f'{{{NAME}=~"{names}"{self._further("")}}}'

    def _further(self, head: str) -> str:
        if not self._matchers:
            return ""
        return self._matchers if head.endswith("{") else f",{self._matchers}"


def matcher(label: str, value: str) -> str:
    """Return the matcher of a label with just that value."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{label}="{escaped}"'


def variable_name(metric: str) -> str:
    """Return the server's name of a variable, from the name of its metric."""
    return metric.removeprefix(_VARIABLES).removeprefix(_STATUS)
