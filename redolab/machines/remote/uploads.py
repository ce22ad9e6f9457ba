"""Files for another machine: the lab, the packages for that machine's Python, and the user's own files.

Packages come from the source of this lab's own packages, in the versions of `requirements.lock` and with its hashes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path

import xxhash
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from redolab.errors import CommandFailed, LabError
from redolab.machine import files, processes
from redolab.machine.commit import lab_commit
from redolab.machine.processes import Command
from redolab.machines.remote.machine import Facts
from redolab.progress import Progress
from redolab.project import PROJECT

_PROJECT = "redolab"
_OLDEST_MANYLINUX = 17
"""Minor version of glibc 2 that `manylinux2014` stands for; pip takes that name for all older wheels as well."""
_PATIENCE = 1800.0
_ENTRY = re.compile(r"^([A-Za-z0-9][^\n]*?) \\\n((?:[ \t]+--hash[^\n]*\n)+)", re.MULTILINE)
"""A requirement of a lock file, and the lines of its hashes."""


def lab_paths(folder: Path) -> Sequence[str]:
    """Return the paths of the lab itself; `folder` receives a file with the commit."""
    if not PROJECT.is_clone:
        return [str(PROJECT.root)]
    files.write_whole(folder / PROJECT.commit_file.name, lab_commit().encode())
    parts = [PROJECT.experiments, PROJECT.provision, PROJECT.disk_model, PROJECT.slow_log_plugin, PROJECT.vagrant]
    return [str(path) for path in (PROJECT.root / _PROJECT, *parts, folder / PROJECT.commit_file.name)]


def user_paths() -> Sequence[str]:
    """Return the paths of the user's own servers, storage profiles and experiments."""
    own = (PROJECT.own_servers, PROJECT.own_storage, PROJECT.own_experiments)
    return [str(path) for path in own if path is not None and path.exists()]


def packed_packages(folder: Path, facts: Facts, progress: Progress) -> Path:
    """Return the folder, under `folder`, of all packages that the lab imports on a machine. Raises `LabError`."""
    version = ".".join(map(str, facts.version))
    wanted = _requirements(version, facts.processor)
    made_of = "\n".join([wanted, version, facts.processor, facts.library])
    packages, making = folder / xxhash.xxh3_64_hexdigest(made_of.encode()), folder / "making"
    if packages.exists():
        return packages
    # A machine can use the wheels for its own glibc and for all older ones (PEP 600).
    minors = range(int(facts.library.partition(".")[2]), _OLDEST_MANYLINUX - 1, -1)
    platforms = [*(f"manylinux_2_{minor}" for minor in minors), "manylinux2014"]
    files.remove(making)
    files.write_whole(making / "requirements.txt", wanted.encode())
    pip = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"),
        *("--no-deps", "--no-compile", "--only-binary=:all:", f"--target={making / 'content'}"),
        *(f"--python-version={version}", "--implementation=cp"),
        *(f"--abi={abi}" for abi in (f"cp{version.replace('.', '')}", "abi3", "none")),
        *(f"--platform={platform}_{facts.processor}" for platform in platforms),
        f"--requirement={making / 'requirements.txt'}",
    ]
    what = f"the lab's packages for Python {version} on {facts.processor}"
    with progress.stage(f"getting {what}"):
        try:
            processes.run(Command(pip), seconds=_PATIENCE)
        except CommandFailed as error:
            raise LabError(f"{what} cannot be had", "see what pip said below", error.details) from error
    files.move(making / "content", packages)
    return packages


def _requirements(version: str, processor: str) -> str:
    """Return the requirements for pip: every package that the lab imports there, locked, with known hashes.

    The markers are evaluated here, for the other machine: pip would evaluate them for this one.
    """
    there = {"python_version": version, "python_full_version": f"{version}.0", "platform_machine": processor}
    environment = {name: str(value) for name, value in default_environment().items()} | there
    names = _needed(environment)
    lock = PROJECT.root / "requirements.lock"
    if not (PROJECT.is_clone and lock.exists()):
        return "".join(f"{name}=={distribution(name).version}\n" for name in sorted(names))
    wanted = []
    for first, hashes in _ENTRY.findall(lock.read_text()):
        requirement = Requirement(first)
        if canonicalize_name(requirement.name) in names and _applies(requirement, environment):
            wanted.append(f"{requirement.name}{requirement.specifier} \\\n{hashes}")
    return "".join(wanted)


def _needed(environment: Mapping[str, str]) -> set[str]:
    """Return the packages that the lab needs in an environment, with their dependencies."""
    found: set[str] = set()
    todo = [(_PROJECT, frozenset[str]())]
    while todo:
        of, extras = todo.pop()
        for text in distribution(of).requires or []:
            requirement = Requirement(text)
            own = canonicalize_name(requirement.name)
            if own not in found and _applies(requirement, environment, extras):
                found.add(own)
                todo.append((own, frozenset(requirement.extras)))
    return found


def _applies(requirement: Requirement, environment: Mapping[str, str], extras: frozenset[str] = frozenset()) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({**environment, "extra": extra}) for extra in ["", *extras])
