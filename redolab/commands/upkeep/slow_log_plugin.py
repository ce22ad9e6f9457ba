"""The slow log plugin for a user's own server."""

from __future__ import annotations

from pathlib import Path

from redolab.errors import InvalidInput
from redolab.lab import open_lab
from redolab.machine.files import write_whole
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.catalogue import server_catalogue
from redolab.slowlog.plugin import check_has_plugin
from redolab.slowlog.plugin.plugin_build import built_slow_log_plugin


def put_slow_log_plugin(progress: Progress, name: str, folder: Path) -> str:
    """Build the plugin for a server and put it into a folder. Return a sentence on it.

    Raises `InvalidInput` for a missing folder or a server that cannot have such a plugin, and `LabError`.
    """
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder {folder}", "make it, or name another")
    # Check before the server is fetched.
    check_has_plugin(name, server_catalogue().get(name).dialect())
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        server = lab.server(name)
        plugin = built_slow_log_plugin(lab, server)
        to = folder / plugin.name
        try:
            # A server may have the old file open: that one is replaced, not written to.
            write_whole(to, plugin.read_bytes(), mode=0o644)
            to.chmod(0o644)
        except OSError as error:
            raise InvalidInput(f"{to} cannot be written ({error.strerror})", "name another folder") from error
    return f"{to} is for {server.name} {server.version}, and no other: INSTALL SONAME '{plugin.stem}'"
