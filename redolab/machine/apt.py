"""apt with a folder of its own: packages of any suite on any release, without root, unpacked instead of installed.

It has one suite in its list, checks that suite's signature against the distribution's keyring, and runs no package
script. The mirror is the one that the machine's own apt uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import CommandFailed, LabError, NotInArchive
from redolab.machine import files, processes
from redolab.machine.distribution import names, os_release
from redolab.machine.processes import Command

_KEYRINGS = {
    "debian": Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    "ubuntu": Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg"),
}
_COMPONENTS = {"debian": "main", "ubuntu": "main universe"}
_ORIGINS = ("Debian", "Ubuntu", "")
"""Origins of the archives that an index can name; empty before the machine's first `apt-get update`."""
_SECURITY = "-security"
_INSTALLED = Path("/var/lib/dpkg/status")


@dataclass(frozen=True, slots=True)
class PrivateApt:
    """An apt with lists, cache and configuration in a folder of its own."""

    folder: Path

    @classmethod
    def prepare(
        cls, folder: Path, suite: str, *, beside_installed: bool = False, source_packages: bool = False
    ) -> PrivateApt:
        """Set up apt for one suite, and its security updates if the machine's own mirrors have them.

        With `beside_installed` only packages that the machine lacks are fetched. `source_packages` adds their lists.
        """
        lists, mirror_settings = sources(suite)
        if source_packages:
            lists += "".join(f"deb-src{line.removeprefix('deb')}" for line in lists.splitlines(keepends=True))
        for name in ("lists/partial", "cache/archives/partial", "etc/preferences.d", "etc/apt.conf.d"):
            files.make_folder(folder / name)
        files.write_whole(folder / "status", _INSTALLED.read_bytes() if beside_installed else b"")
        files.write_whole(folder / "etc/sources.list", lists.encode())
        files.write_whole(folder / "apt.conf", (mirror_settings + _configuration(folder)).encode())
        apt = cls(folder)
        apt._run("update", "--error-on=any")
        return apt

    def unpack(self, packages: Sequence[str], root: Path) -> None:
        """Download the packages with all they depend on, and unpack each into `root`."""
        self._run("install", "--download-only", "--reinstall", "--yes", "--no-install-recommends", *packages)
        files.make_folder(root)
        archives = self.folder / "cache/archives"
        for name in files.names(archives):
            if name.endswith(".deb"):
                processes.run(Command(["dpkg-deb", "--extract", str(archives / name), str(root)]))

    def unpack_alone(self, package: str, root: Path) -> str:
        """Download and unpack one package, without its dependencies, into `root`; return its version.

        Raises `LabError`.
        """
        to = self.folder / "alone"
        files.make_folder(to)
        self._run("download", package, folder=to)
        (name,) = files.names(to)
        files.make_folder(root)
        processes.run(Command(["dpkg-deb", "--extract", str(to / name), str(root)]))
        version = processes.run(Command(["dpkg-deb", "--field", str(to / name), "Version"])).out.strip()
        files.remove(to / name)
        return version

    def source_versions(self, package: str) -> list[str]:
        """Return the versions in which the archive lists a source package."""
        listed = processes.run(Command(["apt-cache", "madison", package], environment=self._environment)).out
        rows = [[part.strip() for part in line.split("|")] for line in listed.splitlines()]
        return [version for name, version, where in rows if name == package and where.endswith("Sources")]

    def unpack_source(self, package: str, version: str, tree: Path) -> None:
        """Download a source package and unpack it, with the distribution's patches, into `tree`.

        Raises `NotInArchive` if the archive does not hand it out.
        """
        to = self.folder / "source"
        files.make_folder(to)
        try:
            self._run("source", "--download-only", "--only-source", f"{package}={version}", folder=to)
        except LabError as error:
            raise NotInArchive(
                f"the source package {package} {version} could not be fetched",
                "try again when the mirror of this machine's apt has it",
                error.details,
            ) from error
        (description,) = [name for name in files.names(to) if name.endswith(".dsc")]
        # apt has compared the files with the hashes of the signed list.
        processes.run(Command(["dpkg-source", "--no-check", "--extract", str(to / description), str(tree)]))
        files.remove(to)

    @property
    def _environment(self) -> dict[str, str]:
        return {"APT_CONFIG": str(self.folder / "apt.conf"), "DEBIAN_FRONTEND": "noninteractive"}

    def _run(self, *arguments: str, folder: Path | None = None) -> None:
        try:
            processes.run(Command(["apt-get", "--quiet", *arguments], environment=self._environment, folder=folder))
        except CommandFailed as error:
            remedy = "check that apt-get update works on this machine"
            raise LabError(f"apt-get {arguments[0]} failed", remedy, error.details) from error


def sources(suite: str) -> tuple[str, str]:
    """Return apt's list of a suite on the machine's own mirror, and the mirror's configuration. Raises `LabError`."""
    system = distribution()
    keyring = _KEYRINGS[system]
    if not keyring.exists():
        raise LabError(f"the keyring {keyring} is not on this machine", f"apt install {keyring.stem}")
    lines = [f"deb [signed-by={keyring}] {site} {release} {_COMPONENTS[system]}\n" for site, release in _mirrors(suite)]
    # Mirrors keep suites past the date until which their lists promise to be fresh; signatures stay checked.
    mirror_settings = f'{_http_settings()}Acquire::Check-Valid-Until "false";\nAcquire::Retries "3";\n'
    return "".join(lines), mirror_settings


def distribution() -> str:
    """Return `debian`, `ubuntu`, or another name that /etc/os-release gives.

    Raises `LabError` if the lab knows no archive for the distribution.
    """
    known = names()
    for name in known:
        if name in _KEYRINGS:
            return name
    raise LabError(
        f"servers are made of Debian's packages, and this machine, {known[0]}, has no apt of Debian or Ubuntu",
        "measure from a Debian machine with MACHINE=ssh:…, which brings them along, or add one that is installed: "
        "'redolab server add NAME --path DIR'",
    )


def codename() -> str:
    """Return the suite of the archive that this machine's packages come from, such as `bookworm`.

    A derived distribution has a codename of its own, and also names that of the original.
    """
    release = os_release()
    return release.get(f"{distribution().upper()}_CODENAME") or release["VERSION_CODENAME"]


def _mirrors(suite: str) -> list[tuple[str, str]]:
    """Return (site, release) for a suite and its security updates, from the sites of the machine's own apt."""
    command = ["apt-get", "indextargets", "--format", "$(SITE)|$(RELEASE)|$(ORIGIN)"]
    lines = dict.fromkeys(processes.run(Command(command)).out.splitlines())
    targets = [(site, release) for site, release, origin in (line.split("|") for line in lines) if origin in _ORIGINS]
    plain = [site for site, release in targets if "-" not in release]
    if not plain:
        raise LabError(
            "apt on this machine has no mirror of its distribution", "see /etc/apt/sources.list*, run apt-get update"
        )
    security = [site for site, release in targets if release.endswith(_SECURITY)]
    # The development suites get their fixes directly.
    if not security or suite in {"sid", "unstable", "testing"}:
        return [(plain[0], suite)]
    return [(plain[0], suite), (security[0], suite + _SECURITY)]


def _http_settings() -> str:
    """Return the lines of the machine's own apt configuration about HTTP, such as proxies."""
    dumped = processes.run(Command(["apt-config", "dump"])).out.splitlines()
    return "\n".join(line for line in dumped if line.startswith(("Acquire::http", "Acquire::https"))) + "\n"


def _configuration(folder: Path) -> str:
    settings = {
        "Dir::State": folder,
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc": folder / "etc",
        "Dir::Etc::trustedparts": folder / "etc",
        "Dir::Etc::netrc": "/etc/apt/auth.conf",
        "Dir::Etc::netrcparts": "/etc/apt/auth.conf.d",
        "Acquire::Languages": "none",
        # Without root there is no other user to download as; the folder belongs to the caller anyway.
        "APT::Sandbox::User": "",
    }
    return "".join(f'{name} "{value}";\n' for name, value in settings.items())
