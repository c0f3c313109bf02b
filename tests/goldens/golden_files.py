"""Files with what commands print: compared by tests, and written by `--rewrite-goldens`."""

import difflib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "files"
OPTION = "--rewrite-goldens"
_LONGEST = 120
"""Lines of a difference that are shown."""


@dataclass(frozen=True)
class GoldenFiles:
    folder: Path
    rewrite: bool

    def check(self, name: str, text: str) -> None:
        """Fail with the difference unless the file has this text; or write it."""
        path = self.folder / name
        if self.rewrite:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if before != text:
            pytest.fail(f"{_problem(name, before, text)}\n\n{_REMEDY}", pytrace=False)

    def names(self) -> set[str]:
        """Return the paths of all files, relative to the folder."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix() for path in files}


_REMEDY = (
    f"If this is meant, `pytest tests/goldens {OPTION}` writes what the commands print now; read "
    "`git diff tests/goldens/files` and name the change in the commit."
)


def _problem(name: str, before: str, after: str) -> str:
    if not before:
        return f"there is no golden `{name}`"
    names = (f"{name} as committed", f"{name} as printed now")
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    shown = list(islice(lines, _LONGEST))
    more = sum(1 for _ in lines)
    return "\n".join([f"`{name}` changed:", "", *shown, *([f"and {more} more lines"] * bool(more))])
