"""Names of machines, such as `ssh:db-spare`, `ssh:db-spare:/mnt/data/redolab` or `vagrant`, and a list of used ones."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.machines.virtual.vagrant import GUEST, LAB_THERE
from redolab.project import PROJECT

LOCAL = "local"
_MACHINE = re.compile(
    rf"(?P<guest>{GUEST})(?::(?P<provider>[a-z]+))?"
    r"|ssh:(?P<host>[A-Za-z0-9_][A-Za-z0-9_.@-]*)(?::(?P<folder>/[A-Za-z0-9_./+-]+))?"
)


@dataclass(frozen=True, slots=True)
class MachineAddress:
    """A machine but this one: a host, or the virtual machine that the lab makes."""

    name: str
    """Name that a person types."""
    host: str
    """Name for OpenSSH's client."""
    folder: str
    """The lab's folder there; empty: in the account's cache."""
    is_guest: bool = False
    provider: str | None = None
    """Provider of the virtual machine; None: the one of the settings."""

    def __str__(self) -> str:
        return self.name


def parse_machine(text: str) -> MachineAddress | None:
    """Return the machine that is meant; None for this one (`local`). Raises `InvalidInput`."""
    if text == LOCAL:
        return None
    match = _MACHINE.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"'{text}' is no machine",
            "as in local, vagrant, ssh:HOST with a name of ~/.ssh/config, or ssh:HOST:/folder/for/the/lab",
        )
    return (
        guest_address(match["provider"])
        if match["guest"]
        else MachineAddress(text, match["host"], match["folder"] or "")
    )


def guest_address(provider: str | None = None) -> MachineAddress:
    """Return the virtual machine at a provider."""
    name = f"{GUEST}:{provider}" if provider else GUEST
    return MachineAddress(name, GUEST, LAB_THERE, is_guest=True, provider=provider)


def known_machines() -> list[MachineAddress]:
    """Return the machines that the lab was on, the most recently used last."""
    try:
        names = msgspec.json.decode(PROJECT.own_machines.read_bytes(), type=list[str])
    except (OSError, msgspec.DecodeError):
        return []
    return [address for name in names if (address := parse_machine(name)) is not None]


def machine_named(name: str) -> MachineAddress:
    """Return the machine of that name, with or without `ssh:`, in the folder that the lab had there."""
    known = known_machines()
    exact = [each for each in known if str(each) in (name, f"ssh:{name}")]
    of_host = [each for each in known if each.host == name.removeprefix("ssh:")]
    if exact or len(of_host) == 1:
        return (exact or of_host)[0]
    if of_host:
        raise InvalidInput(f"the lab is in several folders of {name}", f"name one: {', '.join(map(str, of_host))}")
    address = parse_machine(name if name.startswith(("ssh:", "vagrant")) else f"ssh:{name}")
    if address is None:
        raise InvalidInput(f"'{name}' is this machine", "name another one")
    return address


def note_machine(address: MachineAddress, *, gone: bool = False) -> None:
    """Note that the lab goes to a machine now, or that nothing of it is left there."""
    known = [each.name for each in known_machines() if each != address]
    files.write_whole(PROJECT.own_machines, msgspec.json.encode(known if gone else [*known, address.name]))
