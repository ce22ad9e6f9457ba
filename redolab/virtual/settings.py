"""What can be chosen of the virtual machine: `vagrant/settings.yaml`, and the user's own values beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from redolab.errors import InvalidInput
from redolab.project import PROJECT

OWN_BOX = "redolab/debian"
LIBVIRT, VIRTUALBOX = "libvirt", "virtualbox"
PROVIDERS = (LIBVIRT, VIRTUALBOX)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What `vagrant/settings.yaml` has; the Vagrantfile reads the same file."""

    provider: str
    box: str
    memory: str
    cpus: int
    disk_size: str
    disk_bus: str
    disk_cache: str
    disk_profile: str

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise ValueError(f"provider is {' or '.join(PROVIDERS)}, not {self.provider}")

    @property
    def is_own_box(self) -> bool:
        """Whether the guest is of the box that the lab builds."""
        return self.box == OWN_BOX


def own_settings() -> Path:
    """The file with the user's own values; $REDOLAB_VAGRANT_SETTINGS, if set, is another one."""
    return Path(os.environ.get("REDOLAB_VAGRANT_SETTINGS") or PROJECT.vagrant / "settings.local.yaml")


def read_settings() -> Settings:
    """The settings, the user's own before the project's. Raises `InvalidInput`."""
    own = own_settings()
    values = _values(PROJECT.vagrant / "settings.yaml") | (_values(own) if own.exists() else {})
    try:
        return msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{own}: {error}", "vagrant/settings.yaml has every setting with its default") from error


def _values(path: Path) -> dict[str, Any]:
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=dict[str, Any] | None) or {}
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{path} cannot be read ({error})", "it has lines as in 'memory: 4G'") from error
