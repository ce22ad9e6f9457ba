"""Evidence of a recovery that is stuck, was given up or is wrong, for the developers of the server."""

from __future__ import annotations

import shlex
from pathlib import Path

from redolab.errorlog.collapse import collapsed
from redolab.errorlog.files import arrivals_of
from redolab.errors import CommandFailed, LabError
from redolab.lab import Lab
from redolab.machine import copies, files, processes
from redolab.machine.processes import Command
from redolab.servers.dialects import InstanceRequest, option_file
from redolab.servers.install import InstalledServer

_STACKS = ("eu-stack", "gdb")
_STACKS_SECONDS = 60.0
_LARGEST_LOG = 1_000_000
"""Bytes of an error log above which repeated lines are counted instead of kept."""


def keep_data(lab: Lab, data: Path, evidence: Path) -> None:
    """Keep the data directory of a wrong recovery if possible; otherwise the image rebuilds it."""
    if files.free_space(evidence) < 2 * files.folder_size(data):
        lab.progress.note("there is no room to keep what was recovered: the crash image rebuilds it")
        return
    try:
        copies.copy_folder(data, evidence)
    except LabError as error:
        # The result counts even without the data.
        lab.progress.note(f"what was recovered could not be kept ({error.problem}): the crash image rebuilds it")


def keep_stacks(lab: Lab, pid: int, evidence: Path) -> None:
    """Keep the stacks of a process's threads, where eu-stack or gdb is there."""
    found = lab.tools.first_of(_STACKS)
    if found is None:
        return
    name, tool = found
    arguments = [f"--pid={pid}"] if name == "eu-stack" else ["--batch", f"--pid={pid}", "-ex", "thread apply all bt"]
    try:
        output = processes.run(
            Command([str(tool.program), *arguments], environment=tool.environment), seconds=_STACKS_SECONDS, check=False
        )
    except CommandFailed:
        return
    files.write_whole(evidence / "stacks.txt", (output.out + output.err).encode())


def keep_script(server: InstalledServer, request: InstanceRequest, image: Path, evidence: Path) -> None:
    """Keep a script that repeats the recovery without the lab, for the server's makers."""
    program = server.system / str(server.program).lstrip("/")
    settings = server.dialect.settings(request)
    # Where it is repeated is not known now: the script puts it in.
    options = option_file(settings, Path(_HERE), program.parent.parent, server.share_on_host)
    script = _SCRIPT.format(
        name=server.name,
        version=server.version,
        here=_HERE,
        image=shlex.quote(str(image)),
        program=shlex.quote(str(program)),
        system=shlex.quote(str(server.system)),
    )
    files.write_whole(evidence / "my.cnf", options.encode())
    files.write_whole(evidence / "repeat.sh", script.encode())
    (evidence / "repeat.sh").chmod(0o755)


def cap_log(log: Path) -> None:
    """Remove repeated lines from an error log if it is large."""
    if log.stat().st_size <= _LARGEST_LOG:
        return
    # Each newline has an arrival. Further characters, such as U+2028, end a line for `str.splitlines`.
    lines = log.read_bytes().decode(errors="replace").removesuffix("\n").split("\n")
    stamps = arrivals_of(log).read_text().splitlines() if arrivals_of(log).exists() else []
    kept = list(collapsed(lines, [*stamps, *([None] * (len(lines) - len(stamps)))][: len(lines)]))
    files.write_whole(log, "".join(f"{line}\n" for line, _ in kept).encode())
    if stamps:
        files.write_whole(arrivals_of(log), "".join(f"{stamp or ''}\n" for _, stamp in kept).encode())


_HERE = "@HERE@"
_SCRIPT = """#!/bin/sh
# Repeats a crash recovery of {name} ({version}) without redolab: a copy of the data directory as the crash left it, the
# options beside this script, the server. It takes as much disk as the data directory, and ends with Ctrl-C.
#
#   [IMAGE=/data/directory/of/the/crash] [PROGRAM=/path/to/the/server] ./repeat.sh [/empty/folder/to/work/in]
#
# Without PROGRAM it is the server that redolab unpacked, with the libraries it was unpacked with.
set -eu
beside=$(cd "$(dirname "$0")" && pwd)
image=${{IMAGE:-{image}}}
here=${{1:-$(mktemp -d)}}
mkdir -p "$here/tmp"
cp -a --reflink=auto "$image" "$here/data"
# As in the lab: while the copy is still being written, the disk answers more slowly, which can change the outcome.
sync
sed "s#{here}#$here#g" "$beside/my.cnf" > "$here/my.cnf"
set -- --defaults-file="$here/my.cnf"
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$here"
    chown -R nobody "$here"
    set -- "$@" --user=nobody
fi
echo "its files are in $here; its own error log follows" >&2
if [ -n "${{PROGRAM:-}}" ]; then
    exec "$PROGRAM" "$@"
fi
system={system}
loader=$system/usr/lib64/ld-linux-x86-64.so.2
if [ "$system" = / ] || [ ! -e "$loader" ]; then
    exec {program} "$@"
fi
libraries=$(find "$system/usr/lib" "$system/usr/server/lib" -maxdepth 3 -type d 2>/dev/null | tr '\\n' ':')
exec "$loader" --library-path "$libraries" {program} "$@"
"""
