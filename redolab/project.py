"""Where the project's own files lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Project:
    """The folders of a clone."""

    root: Path

    @property
    def provision(self) -> Path:
        """The catalogues and the workloads' scripts."""
        return self.root / "provision"

    @property
    def experiments(self) -> Path:
        """One file an experiment."""
        return self.root / "experiments"

    @property
    def runs(self) -> Path:
        """What runs left."""
        return self.root / "data/runs"

    @property
    def lab(self) -> Path:
        """What the lab makes for its own use on this machine: servers, tools, datasets, crash images."""
        return self.root / ".lab"


PROJECT = Project(Path(__file__).resolve().parent.parent)
"""This clone."""
