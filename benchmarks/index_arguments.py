"""The command line of the benchmarks of search indexes of several sizes, and their folder."""

import argparse
import compileall
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import turnetl
from tests import real_archives


def parsed_arguments(description: str | None, sizes: Sequence[int]) -> argparse.Namespace:
    """Return the arguments of a benchmark of indexes of these sizes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("archives", nargs="?", default=real_archives.ARCHIVES, type=Path)
    parser.add_argument("--turns", nargs="+", type=int, default=sizes)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if not given.archives.is_dir():
        given.archives = real_archives.SAMPLES
    return given


@contextmanager
def kept_folder(given: Path | None) -> Iterator[Path]:
    """Yield the folder of the indexes: the given one, or one that is deleted afterwards."""
    with tempfile.TemporaryDirectory() as temporary:
        yield (given or Path(temporary)).absolute()


def compile_package() -> None:
    """Write the bytecode, as an installation does: else each process may compile the package."""
    compileall.compile_dir(Path(turnetl.__file__).parent, quiet=1)
