"""What a wheel has beside the package: experiments, catalogues, sources that the lab compiles, what is new, its commit."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_BESIDE = ("experiments", "provision", "diskmodel", "slowlogplugin", "vagrant")
_NOT_OURS = ("__pycache__", "build", "tests")
_COMMIT = "COMMIT"


class CustomBuildHook(BuildHookInterface[Any]):
    """Puts them into the package, so that a user's environment gets no module called `experiments`."""

    _made: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See `BuildHookInterface`."""
        if version == "editable":
            return
        root = Path(self.root)
        inside = "redolab/" if self.target_name == "wheel" else ""
        included = build_data["force_include"]
        included[str(self._commit_file(root))] = f"{inside}{_COMMIT}"
        if self.target_name != "wheel":
            return
        for path in sorted(path for folder in _BESIDE for path in (root / folder).rglob("*") if path.is_file()):
            relative = path.relative_to(root)
            # The user's own servers and storages are nobody else's.
            if not set(relative.parts) & set(_NOT_OURS) and ".local." not in path.name:
                included[str(path)] = f"{inside}{relative}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """See `BuildHookInterface`."""
        if self._made is not None:
            self._made.cleanup()

    def _commit_file(self, root: Path) -> Path:
        """A file with the commit: that of an unpacked source distribution, or one made for this build."""
        kept = root / _COMMIT
        if kept.exists():
            return kept
        commit = _said_by_git(root, "rev-parse", "--short=12", "HEAD")
        changed = commit and _said_by_git(root, "status", "--porcelain")
        self._made = tempfile.TemporaryDirectory(prefix="redolab-")
        made = Path(self._made.name) / _COMMIT
        made.write_text(f"{commit}{'+changes' if changed else ''}\n")
        return made


def _said_by_git(root: Path, *arguments: str) -> str:
    """What git says; nothing where there is no git, or no clone."""
    if shutil.which("git") is None:
        return ""
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
    ).stdout.strip()
