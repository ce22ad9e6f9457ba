"""`make results`: execute notebooks on the committed runs, and export them as pages of docs/results.

A page is the notebook without its code: cells of Markdown, and the prose, tables and pictures that code cells show
(`redolab.results.page`). The notebook itself keeps its outputs, so that it can be read without being run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import mdformat
import nbformat
import papermill
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from redolab.errors import LabError
from redolab.machine.files import write_whole

HERE = Path(__file__).parent
_PAGES = HERE.parent / "docs" / "results"
_COLUMNS = 120
_SVG, _MARKDOWN = "image/svg+xml", "text/markdown"


def executed(path: Path) -> NotebookNode:
    """Return the notebook with the outputs of its cells. Raises `PapermillExecutionError` for the cell that failed."""
    # Threads of linear algebra wait for each other where other work has the CPUs: the model then takes ten times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder, path.name)
        papermill.execute_notebook(
            path,
            done,
            cwd=HERE,
            progress_bar=False,
            kernel_name="python3",
            # Files that only this user may open, instead of ports that everyone on the machine could.
            config=Config(KernelManager={"transport": "ipc"}),
        )
        outputs = {cell.id: cell for cell in _read(done).cells if cell.cell_type == "code"}
    notebook = _read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = outputs[cell.id].outputs
            cell.execution_count = outputs[cell.id].execution_count
    return notebook


def exported(notebook: NotebookNode, name: str) -> dict[str, str]:
    """Return the files of a page, name → content: `NAME.md` first, then its pictures `NAME-PICTURE.svg`."""
    title, *rest = [part for cell in notebook.cells for part in _parts(cell, name)]
    made = f"<!-- Made by 'make results NAME={name}' from notebooks/{name}.ipynb. -->"
    link = f"[How these numbers were computed](../../notebooks/{name}.ipynb)"
    text = mdformat.text(
        "\n\n".join([made, title, link, *rest]), options={"wrap": _COLUMNS, "number": True}, extensions={"tables"}
    )
    pictures = {
        f"{name}-{output.metadata.name}.svg": output.data[_SVG]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if _SVG in output.get("data", {})
    }
    return {f"{name}.md": text, **pictures}


def _parts(cell: NotebookNode, name: str) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        if _SVG in data:
            yield f"![{output.metadata.alt}]({name}-{output.metadata.name}.svg)"
        elif _MARKDOWN in data:
            yield data[_MARKDOWN]
        else:
            raise LabError(f"{name}.ipynb shows what no page can", "show it by prose, table or picture")


def _read(path: Path) -> NotebookNode:
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def write(path: Path, notebooks: Path, pages: Path) -> list[Path]:
    """Execute a notebook, and write it with its outputs and its page into these folders. Return the files of the page."""
    notebook = executed(path)
    files = exported(notebook, path.stem)
    write_whole(notebooks / path.name, f"{nbformat.writes(notebook)}\n".encode())  # type: ignore[no-untyped-call]
    for name, content in files.items():
        write_whole(pages / name, content.encode())
    return [pages / name for name in files]


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute what the command line names; 1 if a notebook failed, 130 if interrupted. What is written by then stays."""
    names = sorted(path.stem for path in HERE.glob("*.ipynb"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="pages; by default all")
    parser.add_argument("--notebooks", type=Path, default=HERE, help="folder for the notebooks with their outputs")
    parser.add_argument("--pages", type=Path, default=_PAGES, help="folder for the pages")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.names if name not in names]
    if unknown:
        print(f"results: there is no page {', '.join(unknown)}: choose from {', '.join(names)}", file=sys.stderr)
        return 2
    failed = 0
    try:
        for name in asked.names or names:
            print(f"… executing {name}", flush=True)
            try:
                for path in write(HERE / f"{name}.ipynb", asked.notebooks, asked.pages):
                    print(f"{name}: {path}")
            except PapermillExecutionError as error:
                failed += 1
                print(f"{name}: {error.ename}: {error.evalue}", file=sys.stderr)
    except KeyboardInterrupt:
        print("results: interrupted; the pages made before stay", file=sys.stderr)
        return 130
    except (LabError, OSError) as error:
        print(f"results: {error}", file=sys.stderr)
        return 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
