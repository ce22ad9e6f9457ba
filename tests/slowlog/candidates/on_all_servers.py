"""Makes `counted.json` anew: what each server of the catalogue counts for the source's examples and for others.

    .venv/bin/python -m tests.slowlog.candidates.on_all_servers [SERVER… | table]

What it prints is the Markdown of the tables in docs/query-logs/candidates.md; `table` prints that alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
from rich.console import Console

from redolab.lab import native_folder, open_lab
from redolab.machine import files
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.catalogue import server_catalogue
from tests.slowlog.candidates.examples import DATABASE, OTHERS, SOURCE, Counted, counted, running

COUNTED = Path(__file__).parent / "counted.json"


class Server(msgspec.Struct, frozen=True):
    """What one server counts, by the name of the statement."""

    version: str
    statements: Mapping[str, Counted]


def read_counted() -> dict[str, Server]:
    """What `counted.json` has, by server."""
    return msgspec.json.decode(COUNTED.read_bytes(), type=dict[str, Server]) if COUNTED.exists() else {}


def main(wanted: list[str]) -> None:
    """Measure these servers, or all, and write what they count; with the word `table` print what is known alone."""
    if wanted == ["table"]:
        sys.stdout.write(tables(read_counted()))
        return
    found = read_counted()
    with open_lab(Progress(Console(stderr=True)), RunStore().clear_unfinished) as lab:
        folder = native_folder(lab.folder) / "instances" / "worth"
        for name in wanted or server_catalogue().names():
            server = lab.server(name)
            with (
                lab.journal.making(folder, "an instance"),
                running(server, folder) as instance,
                instance.connections.connect() as connection,
            ):
                connection.select_db(DATABASE)
                statements = {
                    case: counted(instance, connection, statement)
                    for case, statement in (*SOURCE.items(), *OTHERS.items())
                }
            files.remove(folder)
            found[name] = Server(server.version, statements)
            ordered = {each: found[each] for each in server_catalogue().names() if each in found}
            COUNTED.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")
    sys.stdout.write(tables(read_counted()))


def tables(found: Mapping[str, Server]) -> str:
    """The source's examples, a row for what servers count alike; of the others a row for each statement."""
    lines = ["| statement | sent | examined | access |", "| --- | ---: | ---: | --- |"]
    for case in SOURCE:
        lines += [
            f"| {case} | {each.rows_sent:,} | {each.rows_examined:,} | {', '.join(each.access)} |"
            for each in dict.fromkeys(server.statements[case] for server in found.values())
        ]
    lines += ["", "| statement | sent | examined |", "| --- | ---: | --- |"]
    for case, statement in OTHERS.items():
        alike: dict[int, list[str]] = {}
        for name, server in found.items():
            alike.setdefault(server.statements[case].rows_examined, []).append(name)
        most = max(alike.values(), key=len)
        examined = "; ".join(
            f"{rows:,}" if len(alike) == 1 else f"{rows:,} ({'the others' if names is most else ', '.join(names)})"
            for rows, names in alike.items()
        )
        sent = next(iter(found.values())).statements[case].rows_sent
        lines.append(f"| {case}: `{statement}` | {sent:,} | {examined} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
