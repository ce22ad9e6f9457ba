"""Where a MariaDB server keeps what its slow query log says of a statement, read out of its machine code.

A plugin gets a session's `THD`, of which no package of Debian has the declaration: members move with every version and
every build. The server itself writes them all into its slow query log, in one call, so the places are in the few
instructions before that call. What is not found as expected is an error; and the plugin is given the hash of the code
that was read, so that it refuses any other server.
"""

from __future__ import annotations

import itertools
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import InvalidInput, LabError
from redolab.machine import processes
from redolab.machine.processes import Command

_START_TIME = "thd_start_utime"
_PRINT = "_ZN6LOGGER14slow_log_printEP3THDPKcmy"
_WRITE = "_ZN15MYSQL_QUERY_LOG5writeEP3THDlPKcmyybS3_m"
_DECIDE = "_Z18log_slow_statementP3THD"
_FUNCTIONS = (_START_TIME, _PRINT, _DECIDE, _WRITE)
_MACHINE = "x86_64"

_INSTRUCTION = re.compile(r"^ +[0-9a-f]+:\t((?:[0-9a-f]{2} )+)[ \t]*(.*)$")
_PLACE = r"(0x[0-9a-f]+)\((%r[a-z0-9]+)\)"
_SECONDS = re.compile(rf"imul +\$0xf4240,{_PLACE},%rax")
_MICROSECONDS = re.compile(rf"add +{_PLACE},%rax")
_LOADED = re.compile(rf"mov +{_PLACE},%rax")
_IS_NULL = re.compile(r"test +%rax,%rax")
_SENT_NOW = re.compile(rf"mov +{_PLACE},%rax")
_SENT_BEFORE = re.compile(rf"sub +{_PLACE},%rax")
_FROM_QUERY_CACHE = re.compile(rf"testb +\$0x80,{_PLACE}")
_PUSHED = re.compile(rf"push +{_PLACE}")
_THREAD = re.compile(rf"mov +{_PLACE},%rdx")
_SCHEMA = re.compile(rf"mov +{_PLACE},%rcx")
_CALL = re.compile(r"call .*<my_b_printf(?:@.*)?>")
_WINDOW = 36
"""Instructions before the call, the arguments and the times as text, and behind it."""
_AFTER_START_TIME = {"start_utime": 0x28, "utime_after_lock": 0x30, "utime_after_query": 0x38}
"""Bytes from start_time to these: five whole numbers stand between, in all versions (sql/sql_class.h)."""

_FNV_BEGIN, _FNV_PRIME, _64_BITS = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Function:
    """The machine code of a function of the server's: its bytes, and its instructions in words."""

    symbol: str
    code: bytes
    instructions: Sequence[str]


@dataclass(frozen=True, slots=True)
class ServerLayout:
    """Bytes from the beginning of a `THD` to its members; `functions` is what they were read from."""

    start_second: int
    start_microsecond: int
    start_utime: int
    utime_after_lock: int
    utime_after_query: int
    thread_id: int
    schema: int
    query_plan: int
    rows_sent: int
    rows_examined: int
    rows_affected: int
    bytes_sent: int
    bytes_sent_old: int
    routine: int
    """The stored routine that the statement is in; none at the top."""
    functions: tuple[Function, ...]


def read_layout(program: Path) -> ServerLayout:
    """The layout of the server whose binary is `program`. Raises `InvalidInput` for another processor, `LabError`."""
    if platform.machine() != _MACHINE:
        raise InvalidInput(
            f"the slow log plugin is built for {_MACHINE}, and this machine is {platform.machine()}",
            "use the server's own slow query log",
        )
    return layout_of([_disassembled(program, symbol) for symbol in _FUNCTIONS])


def layout_of(functions: Sequence[Function]) -> ServerLayout:
    """The layout that these functions of a server show. Raises `LabError` where they are not as expected."""
    by_symbol = {function.symbol: function for function in functions}
    start, prints, decides, write = (by_symbol[symbol].instructions for symbol in _FUNCTIONS)
    second = _the_only(_SECONDS, start, "the start of a statement")
    arguments, behind = _around_call(write)
    bytes_sent, thd = _the_last(_SENT_NOW, arguments, "the bytes sent")
    # Pushed last to first; between them stand texts that lie on the stack.
    pushed = [place for place, base in _all(_PUSHED, arguments) if base == thd]
    if len(pushed) != 3:
        raise _unexpected("the rows sent, examined and affected")
    affected, examined, sent = pushed
    times = {name: second[0] + bytes_on for name, bytes_on in _AFTER_START_TIME.items()}
    # The server itself subtracts these from each other.
    _check_read(prints, times["start_utime"], times["utime_after_lock"])
    _check_read(decides, times["utime_after_query"])
    return ServerLayout(
        start_second=second[0],
        start_microsecond=_the_only(_MICROSECONDS, start, "the start of a statement")[0],
        **times,
        thread_id=_of_thd(_THREAD, arguments, thd, "the connection's number"),
        schema=_of_thd(_SCHEMA, arguments, thd, "the default database"),
        query_plan=_of_thd(_FROM_QUERY_CACHE, arguments, thd, "the query cache"),
        rows_sent=sent,
        rows_examined=examined,
        rows_affected=affected,
        bytes_sent=bytes_sent,
        routine=_routine(behind, thd),
        bytes_sent_old=_of_thd(_SENT_BEFORE, arguments, thd, "the bytes sent"),
        functions=tuple(functions),
    )


def as_header(layout: ServerLayout, version: str) -> str:
    """The layout as `server_layout.h`, which the plugin is compiled with."""
    named = {
        "START_SECOND": layout.start_second,
        "START_MICROSECOND": layout.start_microsecond,
        "START_UTIME": layout.start_utime,
        "UTIME_AFTER_LOCK": layout.utime_after_lock,
        "UTIME_AFTER_QUERY": layout.utime_after_query,
        "THREAD_ID": layout.thread_id,
        "SCHEMA": layout.schema,
        "QUERY_PLAN": layout.query_plan,
        "ROWS_SENT": layout.rows_sent,
        "ROWS_EXAMINED": layout.rows_examined,
        "ROWS_AFFECTED": layout.rows_affected,
        "BYTES_SENT": layout.bytes_sent,
        "BYTES_SENT_OLD": layout.bytes_sent_old,
        "ROUTINE": layout.routine,
    }
    places = "".join(f"constexpr std::ptrdiff_t {name} = {place:#x};\n" for name, place in named.items())
    declared = "".join(
        f'[[gnu::weak]] extern const unsigned char function_{number}[] __asm__("{each.symbol}");\n'
        for number, each in enumerate(layout.functions)
    )
    code = "".join(
        f"    {{function_{number}, {len(each.code)}, {_hashed(each.code):#x}U}},\n"
        for number, each in enumerate(layout.functions)
    )
    return f"""/* Written by redolab/querylogs/plugin/layout.py. */
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {{
{declared}}}

namespace layout {{

constexpr const char *SERVER = "{version}";

{places}
struct Code {{
    const unsigned char *there;
    std::size_t size;
    std::uint64_t hash;
}};
const Code CODE[] = {{
{code}}};

}}  // namespace layout
"""


def _disassembled(program: Path, symbol: str) -> Function:
    said = processes.run(
        Command(["objdump", "--disassemble=" + symbol, "--wide", "--insn-width=16", str(program)])
    ).out.splitlines()
    found = [match for line in said if (match := _INSTRUCTION.match(line))]
    if not found:
        raise LabError(
            f"the server {program.name} has no function {symbol} that can be read",
            "build the plugin for a MariaDB server of Debian's, from 10.5 on",
        )
    code = b"".join(bytes.fromhex(match[1]) for match in found)
    return Function(symbol, code, tuple(match[2].strip() for match in found))


def _around_call(write: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The instructions before and behind the call that writes a record's figures: the only one that looks at the query cache."""
    for place, instruction in enumerate(write):
        before = write[max(0, place - _WINDOW) : place]
        if _CALL.match(instruction) and sum(_FROM_QUERY_CACHE.search(each) is not None for each in before) == 1:
            return before, write[place : place + _WINDOW]
    raise _unexpected("the call that writes a record")


def _routine(behind: Sequence[str], thd: str) -> int:
    """The first member that is loaded and compared with nothing: a statement of a routine gets a line with its name next."""
    for loads, tests in itertools.pairwise(behind):
        match = _LOADED.match(loads)
        if match is not None and match[2] == thd and _IS_NULL.match(tests):
            return int(match[1], 16)
    raise _unexpected("the stored routine")


def _check_read(instructions: Sequence[str], *places: int) -> None:
    """Raises `LabError` unless these instructions look at all of these places."""
    read = {int(place, 16) for each in instructions for place, _ in re.findall(_PLACE, each)}
    if not read.issuperset(places):
        raise _unexpected("the times of a statement")


def _all(pattern: re.Pattern[str], instructions: Sequence[str]) -> list[tuple[int, str]]:
    return [(int(match[1], 16), match[2]) for each in instructions if (match := pattern.match(each))]


def _the_only(pattern: re.Pattern[str], instructions: Sequence[str], what: str) -> tuple[int, str]:
    found = _all(pattern, instructions)
    if len(found) != 1:
        raise _unexpected(what)
    return found[0]


def _the_last(pattern: re.Pattern[str], instructions: Sequence[str], what: str) -> tuple[int, str]:
    found = _all(pattern, instructions)
    if not found:
        raise _unexpected(what)
    return found[-1]


def _of_thd(pattern: re.Pattern[str], instructions: Sequence[str], thd: str, what: str) -> int:
    found = [place for place, base in _all(pattern, instructions) if base == thd]
    if len(found) != 1:
        raise _unexpected(what)
    return found[0]


def _unexpected(what: str) -> LabError:
    return LabError(
        f"where this server keeps {what} cannot be read out of its code",
        "build the plugin for a MariaDB server of the catalogue (mariadb-10.5, mariadb-10.11, mariadb-11.8)",
    )


def _hashed(code: bytes) -> int:
    """FNV-1a, as slowlogplugin/session.cc has it."""
    value = _FNV_BEGIN
    for byte in code:
        value = (value ^ byte) * _FNV_PRIME & _64_BITS
    return value
