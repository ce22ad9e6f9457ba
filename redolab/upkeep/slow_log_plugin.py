"""The slow log plugin for a person's own server."""

from __future__ import annotations

import shutil
from pathlib import Path

from redolab.errors import InvalidInput
from redolab.lab import open_lab
from redolab.progress import Progress
from redolab.querylogs.plugin.building import built_slow_log_plugin, check_has_plugin
from redolab.runs.store import RunStore
from redolab.servers.catalogue import server_catalogue


def put_slow_log_plugin(progress: Progress, name: str, folder: Path) -> str:
    """Build the plugin for a server and put it into a folder; what was done, in words.

    Raises `InvalidInput` for a folder that is not there, or a server that can have no such plugin; `LabError`.
    """
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder {folder}", "make it, or name another")
    # Before it is fetched.
    check_has_plugin(name, server_catalogue().get(name).dialect())
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        server = lab.server(name)
        plugin = built_slow_log_plugin(lab, server)
        to = folder / plugin.name
        # Beside the name and then moved onto it: a server may have the old file open.
        beside = folder / f".{plugin.name}.new"
        try:
            shutil.copyfile(plugin, beside)
            beside.chmod(0o644)
            beside.replace(to)
        except OSError as error:
            raise InvalidInput(f"{to} cannot be written ({error.strerror})", "name another folder") from error
        finally:
            beside.unlink(missing_ok=True)
    return f"{to} is for {server.name} {server.version}, and no other: INSTALL SONAME '{plugin.stem}'"
