"""The sandbox holds a program that is hostile: also one that root starts and that does not give up root."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.lab import tools_of
from redolab.machine import processes
from redolab.project import PROJECT
from redolab.servers.sandbox import Sandbox

# Each would leave nothing behind if it could be done.
MOUNT = "mount -t tmpfs nothing /usr"
WRITABLE_SYSTEM = "mount -o remount,rw,bind /usr"
DISK = "mknod /tmp/disk b 7 0"
CORE_DUMPS = ": >> /proc/sys/kernel/core_pattern"
PAGE_CACHE = ": >> /proc/sys/vm/drop_caches"
DEVICES = ": >> /sys/kernel/uevent_helper || : >> /sys/kernel/mm/transparent_hugepage/enabled"


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """With the machine's own programs in it, as for a server that stays where it is."""
    made = Sandbox(tools_of(PROJECT.lab).get("bwrap"), Path("/"), tmp_path / "etc")
    made.prepare()
    return made


@pytest.mark.parametrize("attempt", [MOUNT, WRITABLE_SYSTEM, DISK, CORE_DUMPS, PAGE_CACHE, DEVICES])
def test_what_is_in_it_changes_nothing_of_the_machine(attempt: str, sandbox: Sandbox) -> None:
    done = processes.run(sandbox.command(Path("/bin/sh"), ["-c", f"({attempt}) && echo done"]), check=False)
    assert (done.status != 0, done.out) == (True, ""), done.err


def test_it_can_become_the_servers_user_and_read_its_instance(sandbox: Sandbox, tmp_path: Path) -> None:
    if not processes.is_root():
        pytest.skip("only root gives up root")
    instance = tmp_path / "instance"
    instance.mkdir(mode=0o700)
    (instance / "my.cnf").write_text("[mysqld]\n")
    become = "setpriv --reuid redolab --regid redolab --clear-groups"
    command = ["-c", f"cat /instance/my.cnf && {become} sh -c 'id -u; grep CapEff /proc/self/status'"]
    said = processes.run(sandbox.command(Path("/bin/sh"), command, instance)).out
    assert said.split() == ["[mysqld]", "64747", "CapEff:", "0" * 16]
