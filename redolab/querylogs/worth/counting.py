"""The statement that counts A, and what is refused: only a SELECT that is seen to read and to do nothing else is ever run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp, tokenize
from sqlglot.errors import SqlglotError
from sqlglot.generators.mysql import MySQLGenerator
from sqlglot.tokenizer_core import Token, TokenType

from redolab.querylogs.worth.functions import PURE, SYNTAX
from redolab.querylogs.worth.shape import DIALECT, Unreadable, parse, tables_of

_LONGEST = 64 * 1024
"""Characters of a statement that is asked about: it is parsed and written several times, a second or two of work."""
_UNREADABLE = "\ufffd"
"""What stands for a byte that is no text."""
_EXECUTABLE_COMMENTS = ("/*!", "/*M!", "/*+")


class Refused(Exception):
    """A statement that is not run; the text says why."""


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as a statement names it; `database` None: that of the connection."""

    database: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.database}.{self.name}" if self.database else self.name


@dataclass(frozen=True, slots=True)
class Countable:
    """What may be asked of a server: `statement` with EXPLAIN alone, `counting` is run; and the tables that they read."""

    statement: str
    counting: str
    tables: tuple[TableName, ...]


def countable(text: str) -> Countable:
    """What to ask for the A of a statement: it, and the count of its rows without GROUP BY, DISTINCT, aggregates and LIMIT.

    Both are written anew from the parsed statement, so that what is run is what was checked. Raises `Refused`.
    """
    _check_text(text)
    try:
        select = parse(text)
    except Unreadable as error:
        raise Refused(str(error)) from None
    select = select.copy()
    # They hurry the server or spare its cache, and change no row.
    select.set("operation_modifiers", None)
    _check_nodes(select)
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())])
    for part in ("from_", "joins", "where"):
        counted.set(part, select.args.get(part))
    written = _written(select), _written(counted.copy())
    for each in written:
        _check_calls(each)
    if len(tables_of(counted)) != len(tables_of(select)):
        raise Refused("it reads tables elsewhere than in FROM")
    named = dict.fromkeys(TableName(table.db or None, table.name) for table in tables_of(select))
    return Countable(*written, tuple(named))


def _check_text(text: str) -> None:
    if len(text) > _LONGEST:
        raise Refused(f"longer than {_LONGEST // 1024} KiB")
    if _UNREADABLE in text:
        raise Refused("it has bytes that are no UTF-8: with others in their place it would find other rows")
    # Even inside a string: whoever has such a string can do without this one figure.
    for mark in _EXECUTABLE_COMMENTS:
        if mark in text:
            raise Refused(f"it has a comment that a server executes ({mark} … */)")


def _check_nodes(select: exp.Select) -> None:
    for node in select.walk():
        if isinstance(node, exp.Anonymous) and node.name.upper() not in PURE:
            raise Refused(f"it calls {node.name}()")
        if isinstance(node, exp.Func):
            # By its name, as it is written for the server.
            continue
        kind = type(node)
        if kind in _TOLD:
            raise Refused(_TOLD[kind])
        if kind not in _READS:
            raise Refused(f"not known to be without effects ({kind.__name__})")
        _check_joins(node.args.get("joins") or [])


def _check_joins(joins: Sequence[exp.Join]) -> None:
    """Raises `Refused` where it matters whether a join without a condition was a comma, which binds less: the parser forgets it."""
    unconditional = False
    for join in joins:
        if unconditional and (join.side == "RIGHT" or join.method == "NATURAL"):
            raise Refused("a RIGHT or NATURAL JOIN behind tables that are joined without a condition")
        unconditional |= not any(join.args.get(each) for each in ("on", "using", "kind", "side", "method"))


def _written(select: exp.Select) -> str:
    """It as text for a server. Raises `Refused` if that would be read as another statement."""
    try:
        text = _as_text(select)
        if _as_text(parse(text)) == text:
            return text
    except (Unreadable, RecursionError):
        pass
    raise Refused("it cannot be written anew with certainty")


def _as_text(select: exp.Select) -> str:
    return _ForAllVersions(dialect=DIALECT, comments=False).generate(select)


class _ForAllVersions(MySQLGenerator):
    """Writes what every version since 5.5 reads."""

    # A method is used only where no transformation stands in its place.
    TRANSFORMS = {kind: how for kind, how in MySQLGenerator.TRANSFORMS.items() if kind is not exp.RegexpLike}  # noqa: RUF012

    def regexplike_sql(self, expression: exp.RegexpLike) -> str:
        """As the operator: the function REGEXP_LIKE() came with MySQL 8.0."""
        if expression.args.get("flag"):
            return self.function_fallback_sql(expression)
        return self.binary(expression, "RLIKE")


def _check_calls(text: str) -> None:
    try:
        tokens = tokenize(text, read=DIALECT)
    except SqlglotError:
        raise Refused("it cannot be written anew with certainty") from None
    for before, token in pairwise(tokens):
        if token.token_type is TokenType.L_PAREN and _may_be_call(before):
            name = before.text.upper()
            if before.token_type is TokenType.IDENTIFIER or name not in PURE | SYNTAX:
                raise Refused(f"it calls {before.text}()")
    for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if first.token_type is TokenType.DOT and third.token_type is TokenType.L_PAREN:
            raise Refused(f"it calls {second.text}()")


def _may_be_call(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or token.text.replace("_", "a").isalnum()


_TOLD: dict[type[exp.Expr], str] = {
    exp.Lock: "it locks rows",
    exp.Into: "it writes what it finds elsewhere (INTO)",
    exp.Hint: "it has an optimiser hint",
    exp.PropertyEQ: "it sets a user variable",
    exp.Parameter: "it reads a user variable, which its connection had",
    exp.SessionParameter: "it reads a variable of its connection",
    exp.Placeholder: "it is a prepared statement without its values",
    exp.With: "a common table expression",
    exp.Union: "a UNION",
    exp.Dot: "it calls a stored function",
    exp.Command: "not a SELECT",
}

_READS: frozenset[type[exp.Expr]] = frozenset(
    {
        *(
            exp.Select,
            exp.From,
            exp.Join,
            exp.Where,
            exp.Group,
            exp.Having,
            exp.Order,
            exp.Ordered,
            exp.Limit,
            exp.Offset,
        ),
        *(
            exp.Distinct,
            exp.Subquery,
            exp.Table,
            exp.TableAlias,
            exp.Alias,
            exp.Column,
            exp.Identifier,
            exp.Star,
            exp.Rollup,
        ),
        *(
            exp.IndexTableHint,
            exp.Partition,
            exp.Window,
            exp.WindowSpec,
            exp.Tuple,
            exp.Paren,
            exp.Literal,
            exp.National,
        ),
        *(exp.Null, exp.Boolean, exp.HexString, exp.BitString, exp.Introducer, exp.Var, exp.CharacterSet, exp.Collate),
        *(
            exp.Not,
            exp.EQ,
            exp.NEQ,
            exp.NullSafeEQ,
            exp.NullSafeNEQ,
            exp.GT,
            exp.GTE,
            exp.LT,
            exp.LTE,
            exp.Between,
            exp.In,
        ),
        *(
            exp.Is,
            exp.Like,
            exp.Escape,
            exp.RegexpLike,
            exp.Add,
            exp.Sub,
            exp.Mul,
            exp.Div,
            exp.IntDiv,
            exp.Mod,
            exp.Neg,
        ),
        *(
            exp.BitwiseAnd,
            exp.BitwiseOr,
            exp.BitwiseXor,
            exp.BitwiseNot,
            exp.BitwiseLeftShift,
            exp.BitwiseRightShift,
            exp.Xor,
        ),
        *(exp.Interval, exp.DataType, exp.DataTypeParam, exp.If),
    }
)
"""All that the parsed statement may be made of, besides functions."""
