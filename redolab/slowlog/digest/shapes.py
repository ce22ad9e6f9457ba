"""Shapes: statements without most of their literals, made a column at a time.

Fingerprints are made one by one, so only one statement of each *shape* gets one. Two statements of one shape always
have one fingerprint; the reverse need not hold. Each step here is therefore the same as that of
`redolab.slowlog.digest.fingerprints`, or leaves more of the statement in place.
"""

from __future__ import annotations

import polars as pl

from redolab.slowlog.digest.fingerprints import ADMINISTRATOR, MYSQLDUMP, TOOLKIT

# In these patterns \s, \w, \b and (?i) would be those of Unicode; the fingerprint's are those of bytes.
_BLANK = r"[ \t\n\r\x0B\x0C]"
_FIRST_ROW = (
    rf"\A(?i-u:insert|replace)(?i-u: ignore)?{_BLANK}+(?i-u:into)(?s:.+?)(?i-u:values){_BLANK}*\((?s:.*?)\)"
    rf"{_BLANK}*,{_BLANK}*\("
)
_CALL = rf"\A{_BLANK}*((?i-u:call){_BLANK}+[^ \t\n\r\x0B\x0C]+)\("
_NUMBER = r"[0-9+-][0-9a-fx.+-]*"
_LITERAL = rf"'[^']*'|\"[^\"]*\"|{_NUMBER}"
# Texts that make the order of the steps matter: unbalanced quotes, comments, words that are literals.
_INVOLVED = ("\\", "/*", "--", "#")
_INVOLVED_WORDS = r"(?i-u:true|false)"
_AS_IT_IS = "\x01"
_COMMENT = r"(?s)/\*[^!].*?\*/"
_LINE_COMMENT = r"(?:#|--)[^\r\n'\"]*([\r\n]|\z)"
_BOOLEAN = r"(?i-u:\b(?:true|false)\b)"


def with_shapes(frame: pl.DataFrame) -> pl.DataFrame:
    """Add `shape`, a hash of `text`, to the frame. The rows come in another order."""
    frame = frame.with_columns(shortened=_shortened())
    shortened = pl.col("shortened").str
    involved = pl.any_horizontal(
        *(shortened.contains(mark, literal=True) for mark in _INVOLVED),
        shortened.contains(_INVOLVED_WORDS),
        shortened.contains("'", literal=True) & shortened.contains('"', literal=True),
    )
    kind = pl.when(shortened.starts_with(_AS_IT_IS)).then(2).otherwise(involved.cast(pl.Int32))
    shaped = [
        part.with_columns(shape=_SHAPES[kind]().hash()).drop("shortened", "kind")
        for part in frame.with_columns(kind=kind).partition_by("kind")
        for kind in part["kind"].head(1)
    ]
    return pl.concat(shaped) if shaped else frame.rename({"shortened": "shape"}).with_columns(pl.col("shape").hash())


def _shortened() -> pl.Expr:
    """Return an expression for the part of a statement that decides its fingerprint.

    `_AS_IT_IS` marks text that stays as it is: the name of a procedure keeps its digits.
    """
    text = pl.col("text")
    return (
        pl.when(text.str.starts_with(MYSQLDUMP.decode()))
        .then(pl.lit(_AS_IT_IS + "mysqldump"))
        .when(text.str.contains(TOOLKIT))
        .then(pl.lit(_AS_IT_IS + "toolkit"))
        .when(text.str.starts_with(ADMINISTRATOR.decode()))
        .then(pl.lit(_AS_IT_IS) + text)
        .otherwise(pl.coalesce(pl.lit(_AS_IT_IS) + text.str.extract(_CALL), text.str.extract(_FIRST_ROW, 0), text))
    )


def _as_in_order() -> pl.Expr:
    return (
        pl.col("shortened")
        .str.replace_all(_COMMENT, "")
        .str.replace_all(_LINE_COMMENT, "$1")
        .str.replace_all(r"\\[\"']", "")
        .str.replace_all(r'"[^"]*"', "?")
        .str.replace_all(r"'[^']*'", "?")
        .str.replace_all(_BOOLEAN, "?")
        .str.replace_all(_NUMBER, "?")
    )


def _without_literals() -> pl.Expr:
    return pl.col("shortened").str.replace_all(_LITERAL, "?")


_SHAPES = (_without_literals, _as_in_order, lambda: pl.col("shortened"))
