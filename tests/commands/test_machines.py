"""Which machine a person means by a name."""

from __future__ import annotations

import pytest

from redolab.commands.machines import _meant
from redolab.errors import InvalidInput
from redolab.remote.address import MachineAddress


def ssh(name: str) -> MachineAddress:
    _, host, *folder = name.split(":")
    return MachineAddress(name, host, "".join(folder))


def test_a_folder_that_is_named_goes_before_the_one_that_was_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    home, disk, spare = ssh("ssh:db"), ssh("ssh:db:/mnt/data/redolab"), ssh("ssh:spare:/srv/lab")
    monkeypatch.setattr("redolab.remote.address.known_machines", lambda: [home, disk, spare])
    assert _meant("ssh:db") == home
    assert _meant("ssh:db:/mnt/data/redolab") == disk
    assert _meant("spare") == _meant("ssh:spare") == spare
    monkeypatch.setattr("redolab.remote.address.known_machines", lambda: [disk, ssh("ssh:db:/srv/lab")])
    with pytest.raises(
        InvalidInput, match=r"several folders of db: name one: ssh:db:/mnt/data/redolab, ssh:db:/srv/lab"
    ):
        _meant("db")
