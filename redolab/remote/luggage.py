"""What the lab takes along to a machine: itself, and the packages it needs for that machine's Python.

Packages come from where this lab's own came from, in the versions of `requirements.lock` and with its hashes.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import xxhash
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from redolab.errors import CommandFailed, LabError
from redolab.machine import files, processes
from redolab.machine.clean_up_journal import Journal
from redolab.machine.processes import Command
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.remote.facts import Facts

_PROJECT = "redolab"
LAB_FOLDER = "lab-folder"
"""What the folder of the lab that works there is called, in the folder of all that is brought there."""
_OLDEST_MANYLINUX = 5
_NAMES_OF_OLD = {5: "manylinux1", 12: "manylinux2010", 17: "manylinux2014"}
"""Minor version of glibc 2 → what wheels for it were called before PEP 600."""
_PATIENCE = 1800.0
_ENTRY = re.compile(r"^([A-Za-z0-9][^\n]*?) \\\n((?:[ \t]+--hash[^\n]*\n)+)", re.MULTILINE)
"""A requirement of a lock file, and the lines of its hashes."""


@dataclass(frozen=True, slots=True)
class Luggage:
    """A folder to be copied, and under which name it lies there: it is made anew when its content is another."""

    name: str
    folder: Path
    digest: str = ""
    """Of what it was made from, where its name does not tell."""

    @property
    def mark(self) -> str:
        """What the probe says of it where it is."""
        return f"{self.name} {self.digest}" if self.digest else self.name


class Packing:
    """What is packed here for other machines, under the lab's folder."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self._folder = folder
        self._journal = journal

    def packages(self, facts: Facts, progress: Progress) -> Luggage:
        """All packages that the lab imports, for a machine's Python and processor. Raises `LabError`."""
        wanted = _requirements(facts)
        version = ".".join(map(str, facts.version))
        made_of = "\n".join([wanted, version, facts.processor, str(facts.library)])
        name = f"packages/{xxhash.xxh3_64_hexdigest(made_of.encode())}"
        folder = self._folder / name
        if not folder.exists():
            making = folder.with_name(f"{folder.name}.partial")
            with (
                self._journal.making(making, "half-fetched packages for another machine"),
                progress.stage(f"getting the lab's packages for Python {version} on {facts.processor}"),
            ):
                making.mkdir(parents=True)
                _fetch(wanted, facts, version, making / "content")
                files.move(making / "content", folder)
        return Luggage(name, folder)

    def lab(self, progress: Progress) -> Luggage:
        """The lab itself, as it is in this clone or this environment. Raises `LabError`."""
        making = self._folder / "lab.partial"
        with self._journal.making(making, "the half-packed lab"), progress.stage("packing the lab", brief=True):
            content = making / "content"
            content.mkdir(parents=True)
            if PROJECT.is_clone:
                _unpack_wheel(making, content)
            else:
                shutil.copytree(PROJECT.root, content / _PROJECT, ignore=shutil.ignore_patterns("__pycache__"))
            digest = xxhash.xxh3_64_hexdigest(repr(sorted(files.hash_folder(content).items())).encode())
            name = f"lab/{digest}"
            if not (self._folder / name).exists():
                # Of the lab of yesterday nobody has use.
                files.remove(self._folder / "lab")
                files.move(content, self._folder / name)
        return Luggage(name, self._folder / name)


def _unpack_wheel(making: Path, content: Path) -> None:
    build = ["wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={making}", str(PROJECT.root)]
    _pip(build, "the lab cannot be packed")
    (wheel,) = making.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(content)


def _fetch(wanted: str, facts: Facts, version: str, folder: Path) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write(wanted)
        requirements.flush()
        interpreter = f"cp{version.replace('.', '')}"
        _pip(
            [
                "install",
                "--no-deps",
                "--no-compile",
                "--only-binary=:all:",
                f"--target={folder}",
                f"--python-version={version}",
                "--implementation=cp",
                *(f"--abi={abi}" for abi in (interpreter, "abi3", "none")),
                *(f"--platform={platform}" for platform in _platforms(facts.processor, facts.library)),
                f"--requirement={requirements.name}",
            ],
            f"the lab's packages cannot be had for Python {version} on {facts.processor}",
        )


def _pip(arguments: Sequence[str], problem: str) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", *arguments]
    try:
        processes.run(Command(pip), seconds=_PATIENCE)
    except CommandFailed as error:
        raise LabError(problem, "see what pip said below", error.details) from error


def _platforms(processor: str, library: int) -> list[str]:
    """The wheels that a machine can use, the newest kind first: PEP 600 names them by the oldest glibc they run on."""
    minors = range(library, _OLDEST_MANYLINUX - 1, -1)
    new = [f"manylinux_2_{minor}_{processor}" for minor in minors]
    return new + [f"{_NAMES_OF_OLD[minor]}_{processor}" for minor in minors if minor in _NAMES_OF_OLD]


def _requirements(facts: Facts) -> str:
    """What pip is asked for: every package that the lab imports there, in the locked version, by its hashes where they are known.

    The markers are read here, for that machine: pip would read them for this one.
    """
    version = ".".join(map(str, facts.version))
    environment = {
        "python_version": version,
        "python_full_version": f"{version}.0",
        "platform_machine": facts.processor,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": "linux",
    }
    names = _needed(_PROJECT, environment)
    lock = PROJECT.root / "requirements.lock"
    if not (PROJECT.is_clone and lock.exists()):
        return "".join(f"{name}=={distribution(name).version}\n" for name in sorted(names))
    wanted = []
    for first, hashes in _ENTRY.findall(lock.read_text()):
        requirement = Requirement(first)
        if canonicalize_name(requirement.name) in names and _applies(requirement, environment):
            wanted.append(f"{requirement.name}{requirement.specifier} \\\n{hashes}")
    return "".join(wanted)


def _needed(name: str, environment: Mapping[str, str]) -> set[str]:
    """The packages that one needs in an environment, whichever they are needed by, and not itself."""
    found: set[str] = set()
    todo = [(name, frozenset[str]())]
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


def own_experiments() -> Luggage | None:
    """The folder of the user's own experiments, if there is one."""
    folder = PROJECT.own_experiments
    if folder is None or not folder.is_dir():
        return None
    digest = xxhash.xxh3_64_hexdigest(repr(sorted(files.hash_folder(folder).items())).encode())
    return Luggage(f"own/experiments/{digest}", folder)


def environment_of(folder: str, packages: str, lab: str, name: str, experiments: str | None = None) -> dict[str, str]:
    """What the lab there is started with: `folder` is its folder there, in which the others are, `name` what that machine is called."""
    own = {} if experiments is None else {"REDOLAB_EXPERIMENTS": f"{folder}/{experiments}"}
    return {
        "PYTHONPATH": f"{folder}/{lab}:{folder}/{packages}",
        "PYTHONUNBUFFERED": "1",
        "REDOLAB_MACHINE": name,
        "REDOLAB_LAB": f"{folder}/{LAB_FOLDER}",
        "REDOLAB_RUNS": f"{folder}/runs",
        "REDOLAB_SERVERS": f"{folder}/own/servers.json",
        "REDOLAB_STORAGE": f"{folder}/own/storage.toml",
        "TERM": os.environ.get("TERM", "dumb"),
        **own,
    }
