"""Output file of samples: CSV written as they come, converted to Parquet at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from redolab.counters.sampler import SampleFile
from redolab.errors import InvalidInput

_ENDINGS = (".csv", ".parquet")


def check_output(path: Path) -> None:
    """Refuse a path where samples cannot be written, or that already exists. Raises `InvalidInput`."""
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidInput(f"{path} ends neither in .csv nor in .parquet", "its ending says how to write it")
    if path.exists():
        raise InvalidInput(f"{path} is there already", "nothing is overwritten: choose another name, or remove it")
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent}", "make it, or choose another")


@contextmanager
def kept_in(path: Path | None) -> Iterator[SampleFile | None]:
    """Open the output for samples; each is on disk as it comes, even if the file becomes Parquet at the end."""
    if path is None:
        yield None
        return
    if path.suffix.lower() == ".csv":
        with closing(SampleFile(path)) as file:
            yield file
        return
    beside = path.with_name(f"{path.name}.partial.csv")
    try:
        with closing(SampleFile(beside)) as file:
            yield file
    finally:
        import polars

        polars.read_csv(beside, infer_schema_length=None).write_parquet(path)
        beside.unlink()
