"""Factors of an experiment refuse nonsense before anything is started, in the words of `refused.txt`.

.venv/bin/python -m tests.experiments.test_refused

writes the words anew: read the difference before committing it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redolab.errors import InvalidInput
from redolab.runs.experiment import Experiment
from redolab.runs.factors import read_factors
from redolab.runs.loading import load_experiment

REFUSED = Path(__file__).with_name("refused.txt")
"""Under each request, as `make experiment` takes it, the refusal."""


def _requests() -> Iterator[tuple[str, str]]:
    """Yield each request with its refusal."""
    for entry in REFUSED.read_text().split("\n\n"):
        request, _, refusal = entry.strip().partition("\n")
        yield request, refusal.strip()


@pytest.fixture(autouse=True)
def only_shipped_storages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAB_STORAGE", os.devnull)


@pytest.mark.parametrize(("request_", "refusal"), list(_requests()))
def test_what_cannot_be_measured_is_refused(request_: str, refusal: str) -> None:
    assert _refusal_of(request_) == refusal


def _refusal_of(request: str) -> str:
    name, *given = request.split()
    experiment: Any = load_experiment(name)
    try:
        factors = read_factors(experiment.factors_type, dict(factor.split("=", 1) for factor in given))
        if issubclass(experiment, Experiment):
            experiment.cells(factors)
        else:
            factors.check()
    except InvalidInput as refused:
        return str(refused)
    return ""


if __name__ == "__main__":
    os.environ["REDOLAB_STORAGE"] = os.devnull
    REFUSED.write_text("\n\n".join(f"{request}\n    {_refusal_of(request)}" for request, _ in _requests()) + "\n")
