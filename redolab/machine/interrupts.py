"""Ctrl-C and signals that mean the same: the lab cleans up once, and never in the middle of an atomic step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from redolab.errors import Interrupted

_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Held:
    """Number of blocks that hold interrupts back, and the signal that they hold back."""

    unwinding = False
    depth = 0
    pending: int | None = None


@contextmanager
def unwinding() -> Iterator[None]:
    """Raise `Interrupted` once within the block on SIGINT, SIGTERM or SIGHUP; ignore further signals during clean-up.

    Only the outermost block sets handlers and restores them: clean-up may go on after an inner block has ended.
    """
    if threading.current_thread() is not threading.main_thread() or _Held.unwinding:
        yield
        return
    _Held.unwinding, _Held.pending = True, None
    # A user who started the lab with nohup wants SIGHUP ignored. SIGINT is also ignored in a script's background jobs,
    # though the user did not ask for that.
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    caught = [each for each in _CAUGHT if not (nohup and each is signal.SIGHUP)]
    before = {each: signal.signal(each, _on_signal) for each in caught}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        _Held.unwinding = False


@contextmanager
def held() -> Iterator[None]:
    """Hold interrupts back within the block; raise one that came meanwhile at its end.

    Python's own handlers hold them back: programs started meanwhile would inherit the kernel's signal mask.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _Held.depth += 1
    try:
        yield
    finally:
        _Held.depth -= 1
        if not _Held.depth:
            _raise_pending()


@contextmanager
def released() -> Iterator[None]:
    """Raise interrupts again in a block within `held`; one that came before is raised at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    depth, _Held.depth = _Held.depth, 0
    try:
        _raise_pending()
        yield
    finally:
        _Held.depth = depth


def _on_signal(number: int, _frame: FrameType | None) -> None:
    _Held.pending = number
    if not _Held.depth:
        _raise_pending()


def _raise_pending() -> None:
    """Raise the interrupt that was held back, if there is one, and ignore all later ones."""
    number, _Held.pending = _Held.pending, None
    if number is None:
        return
    for each in _CAUGHT:
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(f"stopped by {signal.Signals(number).name}: everything the run had started is ended and removed")
