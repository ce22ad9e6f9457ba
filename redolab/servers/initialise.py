"""Making a data directory that a server starts on."""

from __future__ import annotations

from pathlib import Path

from redolab.errors import CommandFailed, ServerFailed
from redolab.machine.copies import copy_folder
from redolab.machine.processes import Command, run
from redolab.servers.dialects import InstanceRequest
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, OPTIONS, prepare_folder
from redolab.servers.sandbox import INSTANCE


def initialise(server: InstalledServer, folder: Path, request: InstanceRequest) -> None:
    """Make a data directory that the server starts on, in an empty instance folder. Raises `CommandFailed`."""
    initialisation = server.dialect.initialisation()
    share = server.share_on_host
    if initialisation.ready_folder is not None:
        copy_folder(share.parent / initialisation.ready_folder, folder / DATA)
        if (owner := server.sandbox.owner()) is not None:
            run(Command(["chown", "--recursive", f"{owner}:{owner}", str(folder / DATA)]))
    prepare_folder(server, folder, request)
    if not initialisation.arguments:
        return
    try:
        sql = b"\n".join((share / name).read_bytes() for name in initialisation.sql_files)
    except FileNotFoundError as error:
        raise ServerFailed(
            f"{server.name} lacks {error.filename}", "add a server with its system tables' SQL files"
        ) from error
    arguments = [
        f"--defaults-file={INSTANCE / OPTIONS}",
        *initialisation.arguments,
        *server.sandbox.user_arguments(),
    ]
    command = server.sandbox.command(server.program, arguments, folder)
    whole = initialisation.sql_before.encode() + sql
    try:
        run(Command(command.arguments, environment=command.environment, standard_input=whole))
    except CommandFailed as error:
        raise ServerFailed(
            f"{server.name} could not make a data directory", "its last lines are below", error.details
        ) from error
