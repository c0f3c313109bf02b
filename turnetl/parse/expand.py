"""Paths as a person gives them (files, folders, globs) to archives."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from turnetl.lake import path_text
from turnetl.parse import stores
from turnetl.parse.report import Problem
from turnetl.parse.walk import Found, files, is_called_archive

_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True)
class ExpandedPaths:
    """What the paths stand for."""

    archives: tuple[Path, ...]
    """Each once, sorted."""
    problems: tuple[Problem, ...]
    """One for each path that gave nothing, and for each thing in a folder that was passed over."""


def expand(paths: Iterable[str | os.PathLike[str]]) -> ExpandedPaths:
    """Find the archives. Opens none of them; never raises for a path.

    Folders are searched for what is called `.jsonl` or `.json`, also with `.gz` or `.zst` behind.
    The messages and parts of a store belong to its sessions. A file that is named is taken
    whatever it is called.
    """
    found: dict[str, Path] = {}
    problems: dict[str, Problem] = {}
    for given in paths:
        for thing in _expand(os.path.expanduser(given)):  # noqa: PTH111  Path() forgets a final /
            if isinstance(thing, Problem):
                problems.setdefault(thing.message, thing)
            else:
                found.setdefault(thing.real, Path(thing.path))
    archives = sorted(found.values(), key=lambda path: path.parts)
    return ExpandedPaths(tuple(archives), tuple(problems.values()))


def _expand(given: str) -> Iterable[Found | Problem]:
    if os.path.lexists(given):
        return _existing(given)
    if not glob.has_magic(given):
        return [_problem(given, "missing", "does not exist; check the path")]
    found = [thing for match in _matches(given) for thing in match]
    return found or [
        _problem(given, "missing", "matches nothing that could be an archive; check the pattern")
    ]


def _existing(given: str) -> Iterable[Found | Problem]:
    path = Path(given)
    if path.is_dir():
        what = "holds no .jsonl or .json file, packed or not; name another"
        return list(_searched(given)) or [_problem(path, "empty", what)]
    if path.is_file():
        return [_named(given)]
    return [_problem(path, "unreadable", "is neither a file nor a folder; name an archive")]


def _searched(folder: str) -> Iterator[Found | Problem]:
    """Yield the archives in a folder, and then what could not be looked into."""
    problems: list[Problem] = []

    def note(path: str, reason: str, what: str) -> None:
        problems.append(_problem(path, reason, what))

    belonging = []
    for file in files(folder, note):
        if file.path.endswith(".json") and stores.belongs(Path(file.path)):
            belonging.append(Path(file.path))
        else:
            yield file
    for parts, number in stores.without_message(belonging):
        note(str(parts), "no_message", f"holds {number:,} parts of a message that is gone")
    yield from problems


def _matches(pattern: str) -> Iterator[Iterable[Found | Problem]]:
    """Yield the archives among what a glob matches, and those in the folders that it matches."""
    parts = Path(pattern).parts
    if _ANY_DEPTH not in parts:
        for match in sorted(glob.glob(pattern)):  # noqa: PTH207  takes absolute patterns
            if os.path.isdir(match):  # noqa: PTH112 - as glob gives it
                yield _searched(match)
            elif is_called_archive(match):
                yield [_named(match)]
        return
    # Not left to `glob`: it walks in circles where links do.
    depth = parts.index(_ANY_DEPTH)
    for top in sorted(glob.glob(str(Path(*parts[:depth])))):  # noqa: PTH207 - as above
        yield _below(top, parts[depth:])


def _below(top: str, wanted: Sequence[str]) -> Iterator[Found | Problem]:
    for thing in _searched(top):
        if isinstance(thing, Problem) or _fits(wanted, Path(thing.path).relative_to(top).parts):
            yield thing


def _fits(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Say whether a pattern matches a path, or a folder that it lies in."""
    if not wanted:
        return True
    if wanted[0] != _ANY_DEPTH:
        return bool(parts) and _is_like(parts[0], wanted[0]) and _fits(wanted[1:], parts[1:])
    hidden = (at for at, part in enumerate(parts) if part.startswith("."))
    deepest = next(hidden, len(parts))
    return any(_fits(wanted[1:], parts[at:]) for at in range(deepest + 1))


def _is_like(name: str, pattern: str) -> bool:
    """Compare as a shell does: what is hidden must be asked for."""
    return fnmatchcase(name, pattern) and name.startswith(".") <= pattern.startswith(".")


def _named(path: str) -> Found:
    return Found(path, os.path.realpath(path))


def _problem(path: str | Path, reason: str, what: str) -> Problem:
    name = path_text(Path(path))
    return Problem(name, None, reason, f"`{name}` {what}.")
