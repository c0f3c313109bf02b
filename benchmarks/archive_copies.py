"""Copies of real archives for benchmarks of parsing, and their formats and sizes."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.cost import Cost, measure_cost
from turnetl import formats, parsing


class WorkFolder:
    """A temporary folder. Nothing in it is deleted before the end, because a file system is slow to
    reuse space that was just freed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def new(self) -> Path:
        self.count += 1
        return self.folder / str(self.count)

    def copies(self, archives: Sequence[Path], times: int) -> list[Path]:
        """Return copies that are parsed in the order of `archives`, `times` times."""
        to = self.new()
        for copy in range(times):
            (to / f"{copy:05}").mkdir(parents=True)
            for number, path in enumerate(archives):
                shutil.copyfile(path, to / f"{copy:05}" / f"{number:05}{path.suffix}")
        return list(parsing.expand([to]).archives)

    def cost(self, variant: Callable[[Sequence[Path], Path], str], paths: Sequence[Path]) -> Cost:
        return self.cost_at(variant, paths, self.new())

    def cost_at(
        self, variant: Callable[[Sequence[Path], Path], str], paths: Sequence[Path], to: Path
    ) -> Cost:
        return measure_cost(variant, paths, to)


def recognised(paths: Sequence[Path]) -> list[Path]:
    return [path for path in paths if formats.sniff(path.read_bytes()) is not None]


def format_names(paths: Sequence[Path]) -> list[str]:
    """Return the name of the format of each archive."""
    detected = [formats.sniff(path.read_bytes()) for path in paths]
    return [format_.name if format_ is not None else "" for format_ in detected]


def size(paths: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def mb(paths: Sequence[Path]) -> float:
    return size(paths) / 1e6
