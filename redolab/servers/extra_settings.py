"""Settings of a recovering server that a person asks for, beyond the lab's own.

As text they are `name=value`, several that go together with `+` between them; the empty text is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from redolab.errors import InvalidInput
from redolab.lines import Line
from redolab.servers.dialects import Setting

NONE = "none"
"""Value of the option that stands for the lab's own settings alone."""
LOADS_POOL = "innodb_buffer_pool_load_at_startup=1"
"""Setting of a recovering server that is to load the buffer pool dumped before the crash."""
_SETTING = re.compile(r"([a-z][a-z0-9_]*)(?:=([\w./:%-]+))?", re.ASCII)
_OTHERWISE = {
    "innodb_buffer_pool_size": "POOL= sets it",
    "innodb_log_file_size": "LOGSIZE= sets it",
    "innodb_log_files_in_group": "LOGSIZE= sets it",
    "innodb_redo_log_capacity": "LOGSIZE= sets it",
}
_ERROR = "[ERROR]"
_STAMPS = re.compile(r"^(?:\s*\[[^\]]*\])+")
"""Bracketed fields at the beginning of a line of an error log, such as `[MY-000067] [Server]`."""
_PLACES = frozenset(
    {
        "basedir", "bind_address", "datadir", "init_file", "innodb_data_home_dir", "innodb_log_group_home_dir",
        "innodb_undo_directory", "log_error", "pid_file", "plugin_dir", "port", "socket", "tmpdir", "user",
    }
)  # fmt: skip


def asked_settings(text: str) -> str:
    """Return requested settings in a plan's form, names with `_`. Raises `InvalidInput` for unusable ones."""
    if text == NONE:
        return ""
    return "+".join(_checked(part.strip()) for part in text.split("+"))


def settings_from(text: str) -> tuple[Setting, ...]:
    """Parse the settings in a plan's text."""
    parts = [part.partition("=") for part in text.split("+") if part]
    return tuple(Setting(name, value if is_set else None, "asked for") for name, is_set, value in parts)


def _checked(part: str) -> str:
    name, is_set, value = part.partition("=")
    setting = name.strip().replace("-", "_").lower() + is_set + value.strip()
    if not (match := _SETTING.fullmatch(setting)):
        raise InvalidInput(f"'{part}' is no setting", "write it as in innodb_read_io_threads=16, or none")
    if match[1] in _OTHERWISE:
        raise InvalidInput(f"{match[1]} cannot be set here", _OTHERWISE[match[1]])
    if match[1] in _PLACES:
        raise InvalidInput(f"{match[1]} cannot be set", "where a server lies and listens is the lab's own affair")
    return setting


def what_was_refused(log: Sequence[Line], settings: Sequence[Setting]) -> str:
    """Return the first error in the log that names one of the settings, else the first error of all."""
    return error_naming(log, settings) or next(iter(_errors(log)), "it ended without a word")


def error_naming(log: Sequence[Line], settings: Sequence[Setting]) -> str | None:
    """Return the first error in a log that names one of these settings; None if there is none."""
    return next((text for text in _errors(log) if any(each.name in text.replace("-", "_") for each in settings)), None)


def _errors(log: Sequence[Line]) -> list[str]:
    """Return the texts of the errors in a log, without the fields before them."""
    texts = [line.text.partition(_ERROR)[2] for line in log if _ERROR in line.text]
    return [_STAMPS.sub("", text).strip().rstrip(".") for text in texts]
