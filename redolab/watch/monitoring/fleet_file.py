"""Rules for the servers of a fleet by label: storage, calibration, recovery time and more, from a TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput
from redolab.units import parse_duration


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for the servers whose labels match. Settings left out are those of the command line."""

    match: Mapping[str, str] = {}
    """Label → regular expression of its whole value, as for `=~`. All must match; empty matches every server."""
    storage: str | None = None
    """Storage as for `--storage`: a profile, or a calibration file and a storage in it."""
    rto: str | None = None
    workload: str | None = None

    def holds_for(self, labels: Mapping[str, str]) -> bool:
        """Return True if a server with these labels is meant."""
        return all(re.fullmatch(value, labels.get(label, "")) for label, value in self.match.items())


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    servers: tuple[Rule, ...]


def rule_for(labels: Mapping[str, str], rules: Sequence[Rule]) -> Rule:
    """Return the first of the rules that holds for a server with these labels."""
    return next((rule for rule in rules if rule.holds_for(labels)), Rule())


def read_rules(path: Path) -> Sequence[Rule]:
    """Read a file with a `[[servers]]` table for each rule. Raise `InvalidInput` that names the error in it."""
    try:
        rules = msgspec.toml.decode(path.read_bytes(), type=_File).servers
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidInput(f"{path} cannot be used ({error})", "docs/fleet.md shows such a file") from None
    for rule in rules:
        if rule.rto is not None:
            parse_duration(rule.rto)
        for value in rule.match.values():
            try:
                re.compile(value)
            except re.error as error:
                raise InvalidInput(f"{path}: '{value}' is no regular expression ({error})", "mend it") from None
    return rules
