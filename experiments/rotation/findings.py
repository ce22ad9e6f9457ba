"""What a rotation must not do: lose or tear statements where its method promises to keep them."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.runs.schema import Finding

from .trial import RotationTrial


def findings(trial: RotationTrial) -> Sequence[Finding]:
    """A sentence for each kind of thing that went wrong; none of a method that promises nothing.

    Of a file that is removed nothing is promised: what was sent once the new one was open is.
    """
    if not trial.cell.method.keeps_all:
        return ()
    check = trial.check
    wrong = [
        (check.lost, f"lost {check.lost:,} of {check.sent:,} statements of its slow query log"),
        (check.torn, f"tore {check.torn:,} records of its slow query log"),
        (check.twice, f"logged {check.twice:,} statements twice"),
    ]
    cell = trial.cell
    held = ", logging held" if cell.held else ""
    how = f"{cell.server} on {cell.file_system}{held}"
    return tuple(Finding(what=f"a rotation by {cell.method}: {how} {what}") for count, what in wrong if count)
