"""Plugins put where an instance of the lab's can load them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.machine import files
from redolab.servers.dialects import Setting
from redolab.servers.sandbox import INSTANCE

_PLUGINS = "plugins"
_READABLE = 0o755
PLUGIN_DIR = Setting("plugin_dir", str(INSTANCE / _PLUGINS), "plugins of the lab's own")
"""Setting by which a server finds the plugins in its instance's folder, as a path inside the sandbox."""


def installed(folder: Path, plugins: Sequence[Path]) -> Setting:
    """Copy plugins into an instance's folder; the setting by which its server finds them.

    They are loaded then by `INSTALL SONAME 'NAME'`, or by `plugin_load_add` in the option file.
    """
    to = folder / _PLUGINS
    files.make_folder(to)
    to.chmod(_READABLE)
    for plugin in plugins:
        copy = to / plugin.name
        files.write_whole(copy, plugin.read_bytes())
        copy.chmod(_READABLE)
    return PLUGIN_DIR
