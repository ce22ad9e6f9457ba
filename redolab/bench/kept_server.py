"""A server whose data directory is kept while groups of a plan start instances on it, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from redolab.lab import Lab
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance, prepare_folder

T = TypeVar("T")


class KeptServer(Generic[T]):
    """One server at a time, made as `T` from the server, a prepared folder, and a stack of things that end with it."""

    def __init__(self, lab: Lab, purpose: str, make: Callable[[InstalledServer, Path, ExitStack], T]) -> None:
        self._lab = lab
        self._purpose = purpose
        self._make = make
        self._of_server = ExitStack()
        self._of_instance = ExitStack()
        self._at_hand: tuple[str, T] | None = None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """End every instance and remove the data directory at the end of the block."""
        with self._of_server, self._of_instance:
            yield

    def of(self, name: str) -> T:
        """Return the server of that name: the previous groups' if it is the same, else a new one. Raises `LabError`."""
        if self._at_hand is not None and self._at_hand[0] == name:
            return self._at_hand[1]
        self._at_hand = None
        self._of_server.close()
        server = self._lab.server(name)
        folder = self._lab.home / "instances" / f"{name}-{self._purpose}"
        with ExitStack() as stack:
            what = f"the instance of {name} for the experiment {self._purpose}"
            stack.enter_context(self._lab.journal.making(folder, what, mounted=True))
            prepare_folder(server, folder)
            made = self._make(server, folder, stack)
            self._at_hand = name, made
            self._of_server.push(stack.pop_all())
        return made

    def take(self, of_instance: ExitStack) -> None:
        """Bind an instance's resources to its end, or to the run's."""
        self._of_instance.push(of_instance.pop_all())

    def shut_down(self, instance: Instance) -> None:
        """Shut an instance down cleanly, and release its resources: the next starts on its data directory."""
        with self._of_instance:
            instance.shut_down()

    def end(self, instance: Instance) -> None:
        """Release the resources of a killed instance, whose connections end without a server."""
        self._of_instance.pop_all()
        instance.end()
