"""Paths as a person gives them (files, folders, globs) to archives."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from turnetl.lake import shown
from turnetl.parse.report import Problem

_ENDINGS = (".jsonl", ".json")
"""What an archive in a folder is called. A file that is named is taken whatever it is called."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """What the paths stand for."""

    archives: tuple[Path, ...]
    """Each once, sorted."""
    problems: tuple[Problem, ...]
    """One for each path that gave nothing."""


def expand(paths: Iterable[str | os.PathLike[str]]) -> Expanded:
    """Find the archives. Opens none of them; never raises for a path."""
    found: dict[Path, Path] = {}
    problems: list[Problem] = []
    for given in paths:
        for thing in _expand(os.path.expanduser(given)):  # noqa: PTH111  Path() forgets a final /
            if isinstance(thing, Problem):
                problems.append(thing)
            else:
                found.setdefault(thing.resolve(), thing)
    return Expanded(tuple(sorted(found.values())), tuple(problems))


def _expand(given: str) -> list[Path | Problem]:
    if os.path.lexists(given):
        return _expand_existing(Path(given))
    if not glob.has_magic(given):
        return [_problem(given, "missing", "does not exist; check the path")]
    matches = sorted(glob.glob(given, recursive=True))  # noqa: PTH207  takes absolute patterns
    if not matches:
        return [_problem(given, "missing", "matches nothing; check the pattern")]
    return [thing for match in matches for thing in _expand_match(Path(match))]


def _expand_match(path: Path) -> list[Path | Problem]:
    """A glob means the archives among what it matches; folders are searched all the same."""
    if path.is_dir():
        return [thing for thing in _expand_folder(path) if isinstance(thing, Path)]
    return [path] if path.suffix in _ENDINGS else []


def _expand_existing(path: Path) -> list[Path | Problem]:
    if path.is_dir():
        return _expand_folder(path)
    if path.is_file():
        return [path]
    return [_problem(path, "unreadable", "is neither a file nor a folder; name an archive")]


def _expand_folder(folder: Path) -> list[Path | Problem]:
    closed: list[Path | Problem] = []

    def note(error: OSError) -> None:
        why = f"cannot be read ({error.strerror}); check its permissions"
        closed.append(_problem(error.filename, "unreadable", why))

    found: list[Path | Problem] = [*_walk(folder, note)]
    if not found and not closed:
        closed.append(_problem(folder, "empty", "holds no .jsonl or .json file; name another"))
    return found + closed


def _walk(folder: Path, note: Callable[[OSError], None]) -> Iterator[Path]:
    for at, _, names in os.walk(folder, onerror=note):
        yield from (Path(at, name) for name in names if name.endswith(_ENDINGS))


def _problem(path: str | Path, reason: str, what: str) -> Problem:
    name = shown(Path(path))
    return Problem(name, None, reason, f"`{name}` {what}.")
