"""Which machine a person means by a name."""

from __future__ import annotations

import pytest

from redolab.errors import InvalidInput
from redolab.machines.remote.address import MachineAddress, machine_named


def ssh(name: str) -> MachineAddress:
    _, host, *folder = name.split(":")
    return MachineAddress(name, host, "".join(folder))


def test_a_folder_that_is_named_goes_before_the_one_that_was_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    home, disk, spare = ssh("ssh:db"), ssh("ssh:db:/mnt/data/redolab"), ssh("ssh:spare:/srv/lab")
    monkeypatch.setattr("redolab.machines.remote.address.known_machines", lambda: [home, disk, spare])
    assert machine_named("ssh:db") == home
    assert machine_named("ssh:db:/mnt/data/redolab") == disk
    assert machine_named("spare") == machine_named("ssh:spare") == spare
    monkeypatch.setattr("redolab.machines.remote.address.known_machines", lambda: [disk, ssh("ssh:db:/srv/lab")])
    with pytest.raises(InvalidInput) as refused:
        machine_named("db")
    assert all(name in refused.value.remedy for name in ("ssh:db:/mnt/data/redolab", "ssh:db:/srv/lab"))
