"""Where the project's own files lie, and where it keeps what it makes: in a clone, or installed as a package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

NATIVE = "storage/native"
"""In the lab's folder: where datasets and crash images are kept."""


@dataclass(frozen=True, slots=True)
class Project:
    """The folders of a clone, or of an installed package and the user's own."""

    root: Path
    is_clone: bool

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
        """What the package of the experiments is called: not `experiments` in an environment that is the user's."""
        return "experiments" if self.is_clone else "redolab.experiments"

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
    def slow_log_plugin(self) -> Path:
        """The sources of the slow query log without a lock, a plugin of MariaDB."""
        return self.root / "slowlogplugin"

    @property
    def vagrant(self) -> Path:
        """What the virtual machine is made by."""
        return self.root / "vagrant"

    @property
    def own_storage(self) -> Path:
        """The storage profiles that the user added; $REDOLAB_STORAGE, if set, is another place for them."""
        own = self.provision / "storage.local.toml" if self.is_clone else _configuration() / "storage.toml"
        return Path(os.environ.get("REDOLAB_STORAGE") or own)

    @property
    def own_servers(self) -> Path:
        """The catalogue of the servers that the user added; $REDOLAB_SERVERS, if set, is another place for it."""
        own = self.provision / "servers.local.json" if self.is_clone else _configuration() / "servers.json"
        return Path(os.environ.get("REDOLAB_SERVERS") or own)

    @property
    def own_machines(self) -> Path:
        """The list of the machines that the lab was on; $REDOLAB_MACHINES, if set, is another place for it."""
        own = self.provision / "machines.local.json" if self.is_clone else _configuration() / "machines.json"
        return Path(os.environ.get("REDOLAB_MACHINES") or own)

    @property
    def own_cluster(self) -> Path:
        """The folder of the lab's own certificate for a cluster on this machine: of an account, as each worker has a lab of its own."""
        return _configuration() / "cluster"

    @property
    def runs(self) -> Path:
        """What runs left; $REDOLAB_RUNS, if set, is another place for it."""
        own = self.root / "data/runs" if self.is_clone else Path("redolab-runs")
        return Path(os.environ.get("REDOLAB_RUNS") or own).absolute()

    @property
    def published(self) -> Path:
        """Figures of others, with their source."""
        return self.root / "data/published"

    @property
    def measured(self) -> Path:
        """The runs behind the pages of results: a folder a page, in it a folder a run."""
        return self.root / "data/measured"

    @property
    def results(self) -> Path:
        """The pages of results."""
        return self.root / "docs/results"

    @property
    def lab(self) -> Path:
        """What the lab makes for its own use on this machine: servers, tools, datasets, crash images.

        $REDOLAB_LAB, if set, is another place for it: a larger disk, a faster one.
        """
        return Path(os.environ.get("REDOLAB_LAB") or self.usual_lab).absolute()

    @property
    def usual_lab(self) -> Path:
        """Where the lab's folder is unless $REDOLAB_LAB names another place."""
        return self.root / ".lab" if self.is_clone else _cache()

    @property
    def commit_file(self) -> Path:
        """Which commit a package was built from."""
        return self.root / "COMMIT"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redolab"


def _configuration() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "redolab"


def _project() -> Project:
    package = Path(__file__).resolve().parent
    is_clone = not (package / "experiments").is_dir()
    return Project(package.parent if is_clone else package, is_clone)


PROJECT = _project()
"""This clone, or this installed package."""
