"""What the tests need and is fetched or built, once for all of them."""

from __future__ import annotations

import pytest

from redolab.lab import Lab
from redolab.servers.catalogue import server_catalogue
from redolab.workloads.catalogue import workload_catalogue

pytestmark = pytest.mark.alone


@pytest.mark.timeout(900)
def test_every_server_and_every_program_can_be_had_on_this_machine(lab: Lab) -> None:
    """Tests that run beside each other have no network, and take these over."""
    for name in server_catalogue().names():
        server = lab.server(name)
        assert server.program.is_absolute()
        assert str(server.dialect.version) in server.version
    # tpcc-mysql is the user's own to build.
    for name in set(workload_catalogue().names()) - {"tpcc-mysql"}:
        workload_catalogue().get(name).require(lab)
