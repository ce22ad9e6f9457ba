"""A host that is reached by SSH: sshd of the tests' own, in a network and a mount namespace of its own on this machine."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from redolab.machine import files
from redolab.machine.apt import PrivateApt, codename
from redolab.project import PROJECT
from tests.command import SOMEBODY

NAMESPACE = f"redolab-test-{os.getpid()}"
"""Name of the network namespace, another one in each session of these tests."""
NEEDED = {"ssh": "openssh-client", "rsync": "rsync", "ip": "iproute2", "script": "bsdutils"}
"""Program → the Debian package that has it, for all that the tests need besides sshd, which they unpack."""
SOMEBODYS = "somebody"
_PORT = 22


@dataclass(frozen=True, slots=True)
class Host:
    """A host to which `root` and an ordinary account can log in."""

    folder: Path
    pid: int
    """Process id of the host's sshd."""

    @property
    def environment(self) -> dict[str, str]:
        """Environment in which the command line reaches the host."""
        config = self.folder / "ssh_config"
        return {"REDOLAB_SSH": f"ip netns exec {NAMESPACE} ssh -F {config}"}

    def machine(self, account: str, folder: Path) -> str:
        """Return the value of `--machine` for a folder of an account."""
        return f"ssh:{account}:{folder}"

    @contextmanager
    def disk(self, folder: Path, options: str) -> Iterator[None]:
        """Mount a small disk at that folder within the block, on the host alone."""
        folder.mkdir()
        inside = ["nsenter", f"--target={self.pid}", "--mount"]
        subprocess.run([*inside, "mount", "-t", "tmpfs", f"-o{options}", "tmpfs", folder], check=True)
        try:
            yield
        finally:
            subprocess.run([*inside, "umount", folder], check=True)

    def cut(self) -> None:
        """Cut every connection to the host, as a network that goes down does."""
        for pid in _descendants(self.pid):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def host(folder: Path, *, path: str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin") -> Iterator[Host]:
    """Yield a host with its files in `folder`, the home of its ordinary account too, and programs on `path`."""
    server = _sshd()
    home = folder / "home"
    home.mkdir(parents=True)
    os.chown(home, SOMEBODY, SOMEBODY)
    for name in ("host", "user", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    _write_configuration(folder, home, path)
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        subprocess.run(["ip", "-n", NAMESPACE, "link", "set", "lo", "up"], check=True)
        libraries = ":".join(str(path.parent) for path in server.rglob("*.so*"))
        prepare = (
            f"mount --bind {folder / 'passwd'} /etc/passwd && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd "
            f"&& LD_LIBRARY_PATH={shlex.quote(libraries)} exec {server / 'usr/sbin/sshd'} -D -e -f {folder / 'sshd_config'}"
        )
        command = ["ip", "netns", "exec", NAMESPACE, "unshare", "--mount", "sh", "-c", prepare]
        with (folder / "sshd.log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
            try:
                _wait_until_it_listens(folder / "sshd.log", process)
                yield Host(folder, process.pid)
            finally:
                for pid in [*_descendants(process.pid), process.pid]:
                    os.kill(pid, signal.SIGKILL)
    finally:
        subprocess.run(["ip", "netns", "delete", NAMESPACE], check=True)


def _sshd() -> Path:
    """Return the root of an unpacked openssh-server: installed, it would listen on the machine's own network."""
    unpacked = PROJECT.root / ".lab/tests/sshd"
    if not unpacked.exists():
        making = unpacked.with_name("sshd.partial")
        files.remove(making)
        apt = PrivateApt.prepare(making / "apt", codename(), beside_installed=True)
        apt.unpack(["openssh-server"], making / "root")
        files.move(making / "root", unpacked)
        files.remove(making)
    return unpacked


def _write_configuration(folder: Path, home: Path, path: str) -> None:
    accounts = [line for line in Path("/etc/passwd").read_text().splitlines() if not line.startswith("sshd:")]
    accounts += [
        "sshd:x:64999:64999::/run/sshd:/usr/sbin/nologin",
        f"{SOMEBODYS}:x:{SOMEBODY}:{SOMEBODY}::{home}:/bin/sh",
    ]
    (folder / "passwd").write_text("\n".join(accounts) + "\n")
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    (folder / "sshd_config").write_text(
        f"Port {_PORT}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
        f"AuthorizedKeysFile {folder / 'authorized_keys'}\nSetEnv PATH={path}\n"
    )
    (folder / "known_hosts").write_text(f"127.0.0.1 {(folder / 'host.pub').read_text()}")
    common = f"  HostName 127.0.0.1\n  IdentityFile {folder / 'user'}\n  UserKnownHostsFile {folder / 'known_hosts'}\n"
    (folder / "ssh_config").write_text(
        f"Host root\n  User root\n{common}"
        f"Host {SOMEBODYS}\n  User {SOMEBODYS}\n{common}"
        f"Host stranger\n  User root\n  HostName 127.0.0.1\n  IdentityFile {folder / 'stranger'}\n"
        f"  UserKnownHostsFile {folder / 'known_hosts'}\n"
        f"Host unknown-key\n  User root\n{common.replace('known_hosts', 'no_known_hosts')}"
        f"Host silent\n  User root\n  Port 2222\n{common}"
        "Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  GlobalKnownHostsFile none\n"
    )


def _wait_until_it_listens(log: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while "Server listening" not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


def _descendants(pid: int) -> list[int]:
    return [child.pid for child in reversed(psutil.Process(pid).children(recursive=True))]
