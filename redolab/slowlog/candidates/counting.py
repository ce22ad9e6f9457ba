"""Statement that counts A. Only a SELECT that provably reads, and does nothing else, is run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp, tokenize
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from redolab.slowlog.candidates.shape import DIALECT, Unreadable, parse, tables_of

_LONGEST = 64 * 1024
"""Characters of a statement that is asked about: it is parsed and written several times, a second or two of work."""
_UNREADABLE = "\ufffd"
"""Replacement character for bytes that are no text."""
_EXECUTABLE_COMMENTS = ("/*!", "/*M!", "/*+")
_COUNTED_PARTS = frozenset({"from_", "joins", "where"})

_READS = """
Select From Join Where Group Having Order Ordered Limit Offset Distinct Subquery Table TableAlias Alias Column Identifier
Star Rollup IndexTableHint Partition Window WindowSpec Tuple Paren Literal National Null Boolean HexString BitString
Introducer Var CharacterSet Not EQ NEQ NullSafeEQ NullSafeNEQ GT GTE LT LTE Between In Is Like Escape
Add Sub Mul Div IntDiv Mod Neg BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitwiseLeftShift BitwiseRightShift Interval
DataType DataTypeParam
"""

READS = frozenset(getattr(exp, name) for name in _READS.split())
"""Kinds of nodes, besides functions, that the parsed statement may consist of."""

_PURE = """
ABS ACOS ASIN ATAN ATAN2 CEIL CEILING COS COT CRC32 DEGREES EXP FLOOR GREATEST LEAST LN LOG LOG10 LOG2 MOD PI POW POWER
RADIANS ROUND SIGN SIN SQRT TAN TRUNCATE BIT_COUNT
ASCII BIN CHAR CHAR_LENGTH CHARACTER_LENGTH CONCAT CONCAT_WS CONV ELT FIELD FIND_IN_SET FORMAT HEX INSTR LCASE LEFT
LENGTH LOCATE LOWER LPAD LTRIM MD5 MID OCT OCTET_LENGTH ORD POSITION QUOTE REPLACE REVERSE RIGHT RPAD RTRIM SHA SHA1 SHA2
SOUNDEX SPACE STRCMP SUBSTR SUBSTRING SUBSTRING_INDEX TRIM UCASE UNHEX UPPER
ADDDATE ADDTIME CURDATE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURTIME DATE DATE_ADD DATE_FORMAT DATE_SUB DATEDIFF
DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR EXTRACT FROM_DAYS FROM_UNIXTIME HOUR LAST_DAY LOCALTIME LOCALTIMESTAMP
MAKEDATE MAKETIME MICROSECOND MINUTE MONTH MONTHNAME NOW PERIOD_ADD PERIOD_DIFF QUARTER SEC_TO_TIME SECOND STR_TO_DATE
SUBDATE SUBTIME TIME TIME_FORMAT TIME_TO_SEC TIMEDIFF TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TO_DAYS TO_SECONDS
UNIX_TIMESTAMP UTC_DATE UTC_TIME UTC_TIMESTAMP WEEK WEEKDAY WEEKOFYEAR YEAR YEARWEEK
CAST COALESCE CONVERT IF IFNULL INET_ATON INET_NTOA INTERVAL ISNULL NULLIF
AVG BIT_AND BIT_OR BIT_XOR COUNT GROUP_CONCAT MAX MIN STD STDDEV STDDEV_POP STDDEV_SAMP SUM VAR_POP VAR_SAMP VARIANCE
"""

PURE = frozenset(_PURE.split())
"""Functions that a counted statement may call: they only read their arguments.

Each is native in every version since 5.5: an older server could have a stored function by the name of a younger one.
"""

_SYNTAX = """
AND AS BETWEEN BY CASE CHAR DECIMAL DISTINCT DIV ELSE FROM IN INDEX IS JOIN KEY LIKE NOT ON OR ORDER
PARTITION SELECT SIGNED THEN UNSIGNED USING VALUES VARCHAR BINARY WHEN WHERE XOR TIME
AGAINST MATCH HAVING GROUP LIMIT
"""

SYNTAX = frozenset(_SYNTAX.split())
"""Words that may stand before a bracket and call nothing."""


class Refused(Exception):
    """The statement is not run; the text says why."""


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as a statement names it; `database` None: the connection's default."""

    database: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.database}.{self.name}" if self.database else self.name


@dataclass(frozen=True, slots=True)
class Countable:
    """Statements for a server: `statement` is only explained, `counting` is run; both read `tables`."""

    statement: str
    counting: str
    tables: tuple[TableName, ...]


def countable(text: str) -> Countable:
    """Return the statement, and its count without GROUP BY, DISTINCT, aggregates and LIMIT, to ask for A.

    Both are generated from the parsed statement, so that the statement run is the one checked. Raises `Refused`.
    """
    _check_text(text)
    try:
        select = parse(text)
    except Unreadable as error:
        raise Refused(str(error)) from None
    # The modifiers hurry the server or spare its cache, and change no row.
    select.set("operation_modifiers", None)
    for node in select.walk():
        if isinstance(node, exp.Anonymous) and node.name.upper() not in PURE:
            raise Refused(f"it calls {node.name}()")
        # Other functions are checked by their names in the text for the server, as the parser knows some by several.
        if not isinstance(node, exp.Func) and type(node) not in READS:
            raise Refused(f"not known to be without effects ({type(node).__name__})")
    _check_joins(select)
    counted = select.copy()
    for part in set(counted.args) - _COUNTED_PARTS:
        counted.set(part, None)
    counted.set("expressions", parse("SELECT COUNT(*)").expressions)
    tables = tables_of(select)
    if len(tables_of(counted)) != len(tables):
        raise Refused("it reads tables elsewhere than in FROM")
    named = dict.fromkeys(TableName(table.db or None, table.name) for table in tables)
    return Countable(_written(select), _written(counted), tuple(named))


def _check_text(text: str) -> None:
    if len(text) > _LONGEST:
        raise Refused(f"longer than {_LONGEST // 1024} KiB")
    if _UNREADABLE in text:
        raise Refused("it has bytes that are no UTF-8: with others in their place it would find other rows")
    # Even inside a string: whoever has such a string can do without this one figure.
    for mark in _EXECUTABLE_COMMENTS:
        if mark in text:
            raise Refused(f"it has a comment that a server executes ({mark} … */)")


def _check_joins(select: exp.Select) -> None:
    """Refuse a RIGHT or NATURAL JOIN beside a join without a condition.

    The latter may have been a comma, which binds less; the parser does not keep the difference.
    """
    joins = list(select.find_all(exp.Join))
    conditions = ("on", "using", "kind", "side", "method")
    if any(each.side == "RIGHT" or each.method == "NATURAL" for each in joins) and not all(
        any(each.args.get(condition) for condition in conditions) for each in joins
    ):
        raise Refused("a RIGHT or NATURAL JOIN beside tables that are joined without a condition")


def _written(select: exp.Select) -> str:
    """Return a statement as text for a server.

    Raises `Refused` if the text means another statement, or calls a function that may have effects.
    """
    try:
        text = select.sql(DIALECT, comments=False)
        if parse(text) == select:
            _check_calls(text)
            return text
    except (Unreadable, SqlglotError, RecursionError):
        pass
    raise Refused("it cannot be written anew with certainty")


def _check_calls(text: str) -> None:
    tokens = tokenize(text, read=DIALECT)
    after_dot = False
    for token, following in pairwise(tokens):
        name, quoted = token.text.upper(), token.token_type is TokenType.IDENTIFIER
        is_word = quoted or name.replace("_", "a").isalnum()
        may_be_called = not after_dot and not quoted and name in PURE | SYNTAX
        if following.token_type is TokenType.L_PAREN and is_word and not may_be_called:
            raise Refused(f"it calls {token.text}()")
        after_dot = token.token_type is TokenType.DOT
