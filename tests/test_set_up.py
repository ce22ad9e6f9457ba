"""What the tests need and is fetched or built, once for all of them."""

from __future__ import annotations

import pytest

from redolab.disks.disk_model import built_disk_model
from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.tools import PACKAGES
from redolab.servers.catalogue import server_catalogue
from redolab.servers.packaged import mariadb_backup, server_audit_plugin
from redolab.workloads.catalogue import workload_catalogue
from tests.machines.remote.sshd import NEEDED
from tests.predict.test_report_in_browser import BROWSER
from tests.slowlog.plugin.instances import built_stress
from tests.thorough import USED_EACH_TIME, mostly_thorough

pytestmark = pytest.mark.alone


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", mostly_thorough(server_catalogue().names(), USED_EACH_TIME))
def test_a_server_can_be_had_on_this_machine(name: str, lab: Lab) -> None:
    """Tests that run beside each other have no network, and take these over."""
    server = lab.server(name)
    assert server.program.is_absolute()
    assert str(server.dialect.version) in server.version


@pytest.mark.timeout(900)
def test_every_program_can_be_had_on_this_machine(lab: Lab) -> None:
    # tpcc-mysql is the user's own to build.
    for name in set(workload_catalogue().names()) - {"tpcc-mysql"}:
        workload_catalogue().get(name).require(lab)
    of_root = {**NEEDED, "mkfs.xfs": PACKAGES["mkfs.xfs"]} if processes.is_root() else {}
    programs = {BROWSER: BROWSER, **of_root}
    if missing := [package for program, package in programs.items() if processes.which(program) is None]:
        lab.tools.install(missing, lab.progress)
    lab.tools.require(["fio"], lab.progress)
    if processes.is_root():
        assert built_disk_model(lab).is_file()
    if processes.is_root() and processes.which("vagrant") is None:
        lab.tools.install(["vagrant", "vagrant-libvirt"], lab.progress)
    for file_of in (server_audit_plugin, mariadb_backup):
        assert file_of(lab, lab.server("mariadb-11.8")).is_file()
    assert (built_stress() / "stress").is_file()
