"""Recovery time of a running server if it crashed: now, at the largest checkpoint age seen, at the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from redolab.errors import InvalidInput
from redolab.predict.asking import model_for
from redolab.predict.question import Model, Question
from redolab.predict.recovery import Prediction, recovery_at
from redolab.predict.reservations import reservations_at
from redolab.predict.why import Why, why
from redolab.servers.redo_counters import Sample


class When(StrEnum):
    """The crash whose recovery is expected."""

    NOW = "now"
    HIGHEST = "highest"
    """Crash at the largest checkpoint age seen so far."""
    WORST = "worst"
    """Crash at the checkpoint age at which statements wait."""


class Unknown(StrEnum):
    """The reasons why the recovery of a server is not predicted; a sentence beside it has the details."""

    LOG_SIZE = "log_size_unknown"
    """The server does not say how large its redo log is."""
    NOT_MEASURED = "not_measured"
    """No measurement covers this server, load, disk or buffer pool."""
    IMPOSSIBLE_LOG = "log_size_impossible"
    """The server's version cannot have a redo log of that size."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The recovery after one crash."""

    when: When
    redo: int
    """Bytes of redo to recover."""
    dirty_pages: int | None
    """Dirty pages in the buffer pool. None: as many as measured loads of that kind have at that age."""
    prediction: Prediction


@dataclass(frozen=True, slots=True)
class Expectations:
    """Model that predicts the recovery of a running server, or the reason why none does."""

    model: Model | None
    log_size: int
    """Size of the redo log in bytes; 0 if unknown."""
    unknown: Unknown | None = None
    why_not: str = ""
    """Sentence for people about `unknown`."""

    def of(self, sample: Sample, highest: Sample | None) -> list[Expected]:
        """Return the predicted recoveries. Empty without a model; without a known age only the worst case."""
        if self.model is None:
            return []
        expected = []
        for when, each in ((When.NOW, sample), (When.HIGHEST, highest)):
            if each is not None and each.checkpoint_age:
                expected.append(self._expected(when, each.checkpoint_age, each.dirty_pages or None))
        return [*expected, self._expected(When.WORST, self.model.worst_age(self.log_size), None)]

    def _expected(self, when: When, age: int, dirty_pages: int | None) -> Expected:
        assert self.model is not None
        model = replace(self.model, question=replace(self.model.question, dirty_pages=dirty_pages))
        return Expected(when, age, dirty_pages, recovery_at(model, self.log_size, age))

    def why_at_worst(self) -> Why | None:
        """Return the terms of the prediction for the worst crash; None without a model."""
        return None if self.model is None else why(self.model, self.log_size)

    def reservations(self) -> Sequence[str]:
        """Return the warnings for every predicted time; without a model, the reason for its lack."""
        if self.model is None:
            return (self.why_not,)
        return (*self.model.warnings, *reservations_at(self.model, self.log_size))


def expectations(question: Question, log_size: int | None) -> Expectations:
    """Return the model for a server with a redo log of `log_size` bytes, or the reason why there is none."""
    if log_size is None:
        why_not = "not known: the server does not say how large its redo log is"
        return Expectations(None, 0, Unknown.LOG_SIZE, why_not)
    reason = Unknown.NOT_MEASURED
    try:
        model = model_for(question)
        reason = Unknown.IMPOSSIBLE_LOG
        model.check_log(log_size, None)
    except InvalidInput as error:
        return Expectations(None, log_size, reason, f"not known: {error}")
    return Expectations(model, log_size)
