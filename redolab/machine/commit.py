"""Git commit of the lab that is running."""

from __future__ import annotations

from redolab.machine.processes import Command, run
from redolab.project import PROJECT


def lab_commit() -> str:
    """Return the commit of this clone, with `+changes` appended if the tree differs.

    For an installed package or a copied lab: the commit it was made from. Empty if neither is known.
    """
    if PROJECT.commit_file.exists():
        return PROJECT.commit_file.read_text().strip()
    if not PROJECT.is_clone:
        return ""
    # The command only reads: a killed lab leaves no lock on the index, and two labs on one clone do not collide.
    git = ["git", "--no-optional-locks", "-C", str(PROJECT.root)]
    commit = run(Command([*git, "rev-parse", "--short=12", "HEAD"]), check=False)
    if commit.status != 0:
        return ""
    changed = run(Command([*git, "status", "--porcelain"]), check=False).out
    return commit.out.strip() + ("+changes" if changed else "")
