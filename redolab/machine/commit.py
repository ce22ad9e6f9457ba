"""Which version of itself the lab is."""

from __future__ import annotations

from redolab.machine.processes import Command, run
from redolab.project import PROJECT


def lab_commit() -> str:
    """The commit of this clone, `+changes` behind it if the tree differs; empty outside a git checkout."""
    git = ["git", "-C", str(PROJECT.root)]
    commit = run(Command([*git, "rev-parse", "--short=12", "HEAD"]), check=False)
    if commit.status != 0:
        return ""
    changed = run(Command([*git, "status", "--porcelain"]), check=False).out
    return commit.out.strip() + ("+changes" if changed else "")
