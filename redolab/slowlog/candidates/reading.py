"""Classes of queries of a digest, each with its slowest execution for the decision."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.slowlog.candidates.judging import ClassOfQueries, Execution
from redolab.slowlog.digest.classes import QueryClass


def queries_of(classes: Sequence[QueryClass]) -> list[ClassOfQueries]:
    """Return the classes, in the same order, in the form that `judge` needs."""
    return [
        ClassOfQueries(
            fingerprint=each.fingerprint,
            id=each.id,
            share=each.share,
            seconds=each.seconds.total,
            count=each.count,
            execution=Execution(
                text=each.example.text,
                database=each.example.database,
                rows_sent=each.example.rows_sent,
                rows_examined=each.example.rows_examined,
                cut=each.example.cut,
            ),
        )
        for each in classes
    ]
