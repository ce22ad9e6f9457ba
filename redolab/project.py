"""Paths of the project's own files and of the files it makes, in a clone or as an installed package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

LOCAL = "storage/local"
"""Folder of datasets and crash images, relative to the lab's folder."""


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
        """Folder of the experiments: one folder or file each."""
        return self.root / "experiments"

    @property
    def experiments_package(self) -> str:
        """Name of the experiments' package. In a user's environment, `experiments` could be another package."""
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
        """The sources of the MariaDB plugin that writes the slow query log without a lock."""
        return self.root / "slowlogplugin"

    @property
    def vagrant(self) -> Path:
        """Folder of the Vagrantfile and its settings."""
        return self.root / "vagrant"

    @property
    def own_storage(self) -> Path:
        """Path of the storage profiles that the user added; $REDOLAB_STORAGE overrides it."""
        own = self.provision / "storage.local.toml" if self.is_clone else _configuration() / "storage.toml"
        return Path(os.environ.get("REDOLAB_STORAGE") or own)

    @property
    def own_servers(self) -> Path:
        """Path of the catalogue of servers that the user added; $REDOLAB_SERVERS overrides it."""
        own = self.provision / "servers.local.json" if self.is_clone else _configuration() / "servers.json"
        return Path(os.environ.get("REDOLAB_SERVERS") or own)

    @property
    def own_machines(self) -> Path:
        """Path of the list of machines that the lab was on; $REDOLAB_MACHINES overrides it."""
        own = self.provision / "machines.local.json" if self.is_clone else _configuration() / "machines.json"
        return Path(os.environ.get("REDOLAB_MACHINES") or own)

    @property
    def own_cluster(self) -> Path:
        """Folder of the certificate for a cluster on this machine.

        One for an account: each worker has a lab of its own.
        """
        return _configuration() / "cluster"

    @property
    def runs(self) -> Path:
        """Folder of the runs; $REDOLAB_RUNS overrides it."""
        own = self.root / "data/runs" if self.is_clone else Path("redolab-runs")
        return Path(os.environ.get("REDOLAB_RUNS") or own).absolute()

    @property
    def published(self) -> Path:
        """Figures published by others, with their source."""
        return self.root / "data/published"

    @property
    def measured(self) -> Path:
        """Folder of the runs behind the pages of results: a folder a page, in it a folder a run."""
        return self.root / "data/measured"

    @property
    def results(self) -> Path:
        """The pages of results."""
        return self.root / "docs/results"

    @property
    def lab(self) -> Path:
        """The lab's own folder on this machine: servers, tools, datasets, crash images.

        $REDOLAB_LAB overrides it, for example with a folder on a larger or faster disk.
        """
        return Path(os.environ.get("REDOLAB_LAB") or self.usual_lab).absolute()

    @property
    def usual_lab(self) -> Path:
        """Path of the lab's folder unless $REDOLAB_LAB names another."""
        return self.root / ".lab" if self.is_clone else _cache()

    @property
    def commit_file(self) -> Path:
        """File that names the commit that a package was built from."""
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
"""The project that this code belongs to: a clone or an installed package."""
