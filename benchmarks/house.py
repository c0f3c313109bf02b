"""The size of the house: modules, lines, packages, layers, and what a backfill calls.

    python -m benchmarks.house [--stack] [--packages]

One archive of 38 lines is backfilled in this process, and every call of a function of turnetl is
recorded. `--stack` prints the frames from the command to the commit, `--packages` the lines and
modules of each package. Nothing is timed.
"""

import argparse
import ast
import contextlib
import inspect
import io
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.real_archives import SAMPLES

ROOT = Path(__file__).parents[1]
PRODUCT = ROOT / "turnetl"
ARCHIVE = SAMPLES / "shoebox" / "2026-03-28-duplicates.jsonl"
COMMIT = "commit"
"""The method of the store that commits a turn."""


class Trace:
    """The functions of turnetl that were called, and the deepest way to a commit."""

    def __init__(self) -> None:
        self.called: set[CodeType] = set()
        self.stack: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not _is_own(frame):
            return
        code = frame.f_code
        # Bodies of modules and of classes are no functions, and expressions are parts of one.
        if code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<"):
            self.called.add(code)
        if code.co_name == COMMIT and "graph" in Path(code.co_filename).parts and not self.stack:
            self.stack = [*_own_frames(frame)][::-1]


def _is_own(frame: FrameType) -> bool:
    return Path(frame.f_code.co_filename).is_relative_to(PRODUCT)


def _own_frames(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        if _is_own(frame):
            path = Path(frame.f_code.co_filename).relative_to(PRODUCT)
            yield f"{path}:{frame.f_code.co_qualname}"
        frame = frame.f_back


def traced_backfill() -> Trace:
    from turnetl.cli import main  # noqa: PLC0415 - its import is not a part of the backfill

    trace = Trace()
    with tempfile.TemporaryDirectory() as lake, contextlib.redirect_stdout(io.StringIO()):
        sys.argv = ["turnetl", "backfill", str(ARCHIVE), "--lake", lake, "--json"]
        threading.setprofile(trace)
        sys.setprofile(trace)
        try:
            with contextlib.suppress(SystemExit):
                main()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return trace


def modules() -> dict[str, str]:
    """Return the source of each module by its path below the product."""
    return {
        path.relative_to(PRODUCT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(PRODUCT.rglob("*.py"))
    }


def layers() -> int:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [contract] = [one for one in linter["contracts"] if one["type"] == "layers"]
    return len(contract["layers"])


def named_twice(sources: dict[str, str]) -> list[str]:
    """Return names of modules that several packages have, with how many, most frequent first."""
    names = Counter(Path(path).name for path in sources if not path.endswith("__init__.py"))
    return [f"{name} {count}" for name, count in names.most_common() if count > 1]


def main(*, stack: bool, packages: bool) -> None:
    sources = modules()
    lines = {path: source.count("\n") for path, source in sources.items()}
    classes = [
        node.name
        for source in sources.values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    ]
    trace = traced_backfill()
    sizes = sorted(lines.values())
    twice = named_twice(sources)
    figures = {
        "modules": len(sources),
        "modules at the top": sum("/" not in path for path in sources),
        "lines": sum(sizes),
        "lines of the median module": sizes[len(sizes) // 2],
        "packages": sum(path.endswith("/__init__.py") for path in sources),
        "packages at the top": sum(path.count("/") == 1 for path in sources if "__init__" in path),
        "classes": len(classes),
        "classes named Output": sum(name.endswith("Output") for name in classes),
        "layers": layers(),
        "names of several modules": len(twice),
        "functions called by a backfill": len(trace.called),
        "modules of these functions": len({code.co_filename for code in trace.called}),
        "own frames at the commit": len(trace.stack),
    }
    for name, figure in figures.items():
        print(f"{figure:>9,}  {name}")
    print("most frequent names:", ", ".join(twice[:8]))
    if stack:
        print("\n".join(trace.stack))
    if packages:
        by_package = Counter(path.split("/")[0] for path in sources)
        for package, count in by_package.most_common():
            of_package = sum(n for path, n in lines.items() if path.split("/")[0] == package)
            print(f"{count:>5} modules {of_package:>8,} lines  {package}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stack", action="store_true")
    parser.add_argument("--packages", action="store_true")
    main(**vars(parser.parse_args()))
