"""A cluster on this machine: a network namespace for each of its machines, on a bridge that nothing else is on, and TLS."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from redolab.machine.lab_folder import claim_lab_folder
from redolab.project import PROJECT
from tests.command import redolab, redolab_running

CONTROL = "192.0.2.1"
ADDRESS = f"tls://{CONTROL}:8786"
_NAMESPACES = f"redolab-test-{os.getpid()}"
"""Beginning of the namespaces' names, another one in each session of these tests."""
_SWITCH, _CONTROL = f"{_NAMESPACES}-switch", f"{_NAMESPACES}-control"
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def certificates(folder: Path, names: Sequence[str] = ("own",)) -> Path:
    """Make a CA and certificates signed by it, as docs/machines.md says; return their folder."""
    folder.mkdir(parents=True)

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", *_CURVE, "-days", "365", "-subj", "/CN=redolab", "-keyout", "ca.key", "-out", "ca.crt")
    for name in names:
        openssl("req", *_CURVE, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "365")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.crt")
    return folder


def tls(folder: Path, name: str = "own", *, authority: Path | None = None) -> dict[str, str]:
    """Return Dask's configuration for these certificates, as environment."""
    start = "DASK_DISTRIBUTED__COMM__TLS__"
    found = {f"{start}CA_FILE": str((authority or folder) / "ca.crt")}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        found[f"{start}{role}__CERT"] = str(folder / f"{name}.crt")
        found[f"{start}{role}__KEY"] = str(folder / f"{name}.key")
    return found


@dataclass
class Cluster:
    """A scheduler, its machines, and their output; all of it ends with the tests."""

    folder: Path
    certificates: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def lab(self, name: str) -> Path:
        """Return the folder of a machine's lab."""
        return self.folder / name / "lab"

    def said(self, name: str) -> str:
        """Return the output of a machine's worker."""
        return (self.folder / f"{name}.log").read_text()

    @property
    def environment(self) -> dict[str, str]:
        """Environment of clients, at the scheduler's machine."""
        return {**os.environ, **tls(self.certificates), "PYTHONUNBUFFERED": "1"}

    def redolab(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `redolab ARGUMENTS` at the scheduler's machine to its end."""
        return redolab(*arguments, environment={**self.environment, **(environment or {})}, within=_in(_CONTROL))

    def started(self, *arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
        """Run `redolab ARGUMENTS` at the scheduler's machine within the block."""
        return redolab_running(*arguments, environment=self.environment, within=_in(_CONTROL))

    def start_scheduler(self) -> None:
        """Start the scheduler and wait until it listens."""
        self._start("scheduler", _CONTROL, "scheduler", "--host", CONTROL)
        self._wait_for("scheduler", f"scheduler at {ADDRESS}")

    def join(self, name: str) -> None:
        """Have a machine join the scheduler, and wait until it has."""
        self._start(name, f"{_NAMESPACES}-{name}", "worker", ADDRESS, "--name", name)
        self._wait_for(name, f"{name} has joined {ADDRESS}")

    def kill(self, name: str) -> None:
        """Kill a machine's worker, as a machine that loses its power does."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def _start(self, name: str, namespace: str, *arguments: str) -> None:
        environment = {
            **self.environment,
            "REDOLAB_LAB": str(self.lab(name)),
            "REDOLAB_RUNS": str(self.folder / name / "runs"),
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [*_in(namespace), sys.executable, "-m", "redolab", *arguments],
                stdout=log, stderr=subprocess.STDOUT, cwd=PROJECT.root, env=environment,
            )  # fmt: skip

    def _wait_for(self, name: str, words: str) -> None:
        deadline = time.monotonic() + 60
        while words not in self.said(name):
            assert self.processes[name].poll() is None, self.said(name)
            assert time.monotonic() < deadline, self.said(name)
            time.sleep(0.1)


@contextmanager
def cluster(folder: Path, machines: Sequence[str]) -> Iterator[Cluster]:
    """Yield a scheduler and these machines, with the default server unpacked and their files in `folder`."""
    made = Cluster(folder, certificates(folder / "certificates"))
    for name in machines:
        claim_lab_folder(made.lab(name))
        for unpacked in (PROJECT.lab / "servers").glob("mariadb-10.11-*"):
            there = made.lab(name) / "servers" / unpacked.name
            shutil.copytree(unpacked, there, symlinks=True, copy_function=os.link)
    with _network(machines):
        try:
            made.start_scheduler()
            for name in machines:
                made.join(name)
            yield made
        finally:
            for name in list(made.processes):
                made.kill(name)


@contextmanager
def _network(machines: Sequence[str]) -> Iterator[None]:
    namespaces = [_SWITCH, _CONTROL, *(f"{_NAMESPACES}-{name}" for name in machines)]
    try:
        for position, namespace in enumerate(namespaces):
            _ip("netns", "add", namespace)
            _ip("-n", namespace, "link", "set", "lo", "up")
            if position == 0:
                _ip("-n", _SWITCH, "link", "add", "switch", "type", "bridge")
                _ip("-n", _SWITCH, "link", "set", "switch", "up")
                continue
            # Both ends are made inside namespaces of the tests' own: the host's network has neither.
            pair = ("type", "veth", "peer", "name", "eth0", "netns", namespace)
            _ip("-n", _SWITCH, "link", "add", f"to{position}", *pair)
            _ip("-n", _SWITCH, "link", "set", f"to{position}", "master", "switch", "up")
            _ip("-n", namespace, "address", "add", f"192.0.2.{position}/24", "dev", "eth0")
            _ip("-n", namespace, "link", "set", "eth0", "up")
        yield
    finally:
        for namespace in reversed(namespaces):
            subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)


def _in(namespace: str) -> list[str]:
    """Return the command that runs another one in a network namespace."""
    # Not by `ip netns exec`, which copies all mounts: what another lab unmounts meanwhile would stay in use.
    return ["nsenter", f"--net=/run/netns/{namespace}"]


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
