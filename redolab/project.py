"""Where the project's own files lie, and where it keeps what it makes."""

from __future__ import annotations

import os
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
        """One folder an experiment."""
        return self.root / "experiments"

    @property
    def experiments_package(self) -> str:
        """What the package of the experiments is called."""
        return "experiments"

    @property
    def own_experiments(self) -> Path | None:
        """The folder of the user's own experiments, if $REDOLAB_EXPERIMENTS names one."""
        named = os.environ.get("REDOLAB_EXPERIMENTS")
        return Path(named).absolute() if named else None

    @property
    def disk_model(self) -> Path:
        """The sources of the disk model."""
        return self.root / "diskmodel"

    @property
    def own_storage(self) -> Path:
        """The storage profiles that the user added; $REDOLAB_STORAGE, if set, is another place for them."""
        return Path(os.environ.get("REDOLAB_STORAGE") or self.provision / "storage.local.toml")

    @property
    def own_servers(self) -> Path:
        """The catalogue of the servers that the user added; $REDOLAB_SERVERS, if set, is another place for it."""
        return Path(os.environ.get("REDOLAB_SERVERS") or self.provision / "servers.local.json")

    @property
    def runs(self) -> Path:
        """What runs left; $REDOLAB_RUNS, if set, is another place for it."""
        return Path(os.environ.get("REDOLAB_RUNS") or self.root / "data/runs")

    @property
    def lab(self) -> Path:
        """What the lab makes for its own use on this machine: servers, tools, datasets, crash images.

        $REDOLAB_LAB, if set, is another place for it: a larger disk, a faster one.
        """
        return Path(os.environ.get("REDOLAB_LAB") or self.root / ".lab").absolute()


PROJECT = Project(Path(__file__).resolve().parent.parent)
"""This clone."""
