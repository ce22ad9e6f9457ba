"""`make notebooks`: every notebook executed from beginning to end, as a page of HTML.

With `--keep notebooks` the notebooks themselves get their outputs: they are committed with them, and can be read without being run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
import papermill
from nbconvert import HTMLExporter
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

import redolab
from redolab.errors import LabError
from redolab.machine.files import write_whole

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Notebook:
    """One notebook: the file, and the experiment whose runs it asks for, if it does."""

    path: Path
    experiment: str | None

    @classmethod
    def read(cls, path: Path) -> Notebook:
        """What its metadata say."""
        metadata = nbformat.read(path, as_version=4).metadata  # type: ignore[no-untyped-call]
        return cls(path, metadata.get("redolab", {}).get("experiment"))

    def has_runs(self, runs: Path) -> bool:
        """Whether that folder has what it asks for."""
        return self.experiment is None or redolab.load_runs(self.experiment, runs).height > 0


def execute(notebook: Notebook, output: Path, runs: Path | None, keep: Path | None = None) -> Path:
    """Execute a notebook on these runs, by default those committed with the project, and write it as HTML.

    `keep`: the folder for the notebook with its outputs. Raises `PapermillExecutionError` for the cell that failed,
    `LabError` or `OSError` if there is no room.
    """
    parameters = {"runs": str(runs)} if runs is not None and notebook.experiment is not None else {}
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder, notebook.path.name)
        papermill.execute_notebook(
            notebook.path,
            done,
            parameters=parameters,
            cwd=HERE,
            progress_bar=False,
            kernel_name="python3",
            # Files that only this user may open, instead of ports that everyone on the machine could.
            config=Config(KernelManager={"transport": "ipc"}),
        )
        if keep is not None:
            write_whole(keep / notebook.path.name, with_outputs(notebook.path, done).encode())
        exporter = HTMLExporter(  # type: ignore[no-untyped-call]
            template_name="alone", extra_template_basedirs=[str(HERE / "templates")]
        )
        page, _ = exporter.from_filename(str(done))
    target = output / f"{notebook.path.stem}.html"
    write_whole(target, page.encode())
    return target


def with_outputs(source: Path, done: Path) -> str:
    """The notebook, with what its cells gave when it was executed, and nothing else of that."""
    executed = nbformat.read(done, as_version=4)  # type: ignore[no-untyped-call]
    # The kernel sends what is printed in pieces, which are others each time.
    executed, _ = CoalesceStreamsPreprocessor().preprocess(executed, {})  # type: ignore[no-untyped-call]
    outputs = {cell.id: cell for cell in executed.cells if cell.cell_type == "code"}
    notebook = nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = outputs[cell.id].outputs
            cell.execution_count = outputs[cell.id].execution_count
    return f"{nbformat.writes(notebook)}\n"  # type: ignore[no-untyped-call]


def main() -> int:
    """Execute all; 1 if one failed, 130 if interrupted. What is written by then stays."""
    try:
        return execute_all()
    except KeyboardInterrupt:
        print("notebooks: interrupted; the pages made before stay", file=sys.stderr)
        return 130
    except (LabError, OSError) as error:
        print(f"notebooks: {error}", file=sys.stderr)
        return 1


def execute_all() -> int:
    """What the command line asks for; 1 if a notebook failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="folder for the pages")
    parser.add_argument("--runs", type=Path, help="folder of runs instead of those committed with the project")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="folder for the notebooks with their outputs")
    asked = parser.parse_args()
    if asked.keep is not None and asked.runs is not None:
        print("notebooks: --keep is for the runs committed with the project: leave --runs out", file=sys.stderr)
        return 1
    if asked.runs is not None and not asked.runs.is_dir():
        print(f"notebooks: there is no folder {asked.runs}: RUNS=data/runs has your own runs", file=sys.stderr)
        return 1
    runs = asked.runs.absolute() if asked.runs else None
    asked.output.mkdir(parents=True, exist_ok=True)
    failed = 0
    for path in sorted(HERE.glob("*.ipynb")):
        notebook = Notebook.read(path)
        if runs is not None and not notebook.has_runs(runs):
            print(f"{path.stem}: left out, as {asked.runs} has no run of {notebook.experiment}")
            continue
        print(f"… executing {path.stem}", flush=True)
        try:
            print(f"{path.stem}: {execute(notebook, asked.output, runs, asked.keep)}")
        except PapermillExecutionError as error:
            failed += 1
            print(f"{path.stem}: {error.ename}: {error.evalue}", file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
