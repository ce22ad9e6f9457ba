"""Start of a run's session: a record of this machine, the lab and its tools."""

from __future__ import annotations

from redolab.lab import Lab
from redolab.machine.commit import lab_commit
from redolab.machine.description import read_machine
from redolab.runs.schema import Session
from redolab.runs.store import new_session
from redolab.servers.catalogue import expected_versions


def session_here(lab: Lab) -> Session:
    """Return a session that begins now on this machine."""
    return new_session(read_machine(lab.home), lab_commit(), lab.tools.versions(), lab.identity(), expected_versions())
