"""Interrupts unwind once, and not where something must be whole."""

from __future__ import annotations

import os
import signal

import pytest

from redolab.errors import Interrupted
from redolab.machine.interrupts import held, released, unwinding


def test_a_signal_unwinds_once_and_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def interrupted_twice() -> None:
        with unwinding():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                # While the lab cleans up, it is not interrupted again.
                os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        interrupted_twice()
    assert signal.getsignal(signal.SIGTERM) is before


def test_leaving_an_inner_one_does_not_end_the_clean_up_of_an_outer_one() -> None:
    before, cleaned = signal.getsignal(signal.SIGINT), []

    def interrupted_while_cleaning_up() -> None:
        with unwinding():
            try:
                with unwinding():
                    os.kill(os.getpid(), signal.SIGINT)
            finally:
                os.kill(os.getpid(), signal.SIGINT)
                cleaned.append("all")

    with pytest.raises(Interrupted):
        interrupted_while_cleaning_up()
    assert cleaned == ["all"]
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(Interrupted):
        interrupted_while_cleaning_up()


def test_held_it_comes_at_the_end() -> None:
    reached = []

    def interrupted() -> None:
        with unwinding():
            with held():
                os.kill(os.getpid(), signal.SIGINT)
                reached.append("whole")
            reached.append("not this")

    with pytest.raises(Interrupted):
        interrupted()
    assert reached == ["whole"]


def test_released_within_held_it_comes_at_once() -> None:
    reached = []

    def interrupted() -> None:
        with unwinding(), held():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("whole")
            with released():
                reached.append("not this")

    with pytest.raises(Interrupted):
        interrupted()
    assert reached == ["whole"]
