"""Expansion of the paths that the user gives (files, folders, globs) into archives."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from turnetl.lake import path_text
from turnetl.parsing import opencode_store
from turnetl.parsing.report import Problem
from turnetl.parsing.walk import FoundFile, has_archive_suffix, walk_files
from turnetl.skip_reasons import SkipReason
from turnetl.url_scheme import url_scheme

_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True)
class ExpandedPaths:
    """The archives that paths lead to."""

    archives: tuple[Path, ...]
    """Each once, sorted."""
    problems: tuple[Problem, ...]
    """One for each path without an archive, and for each skipped entry of a folder."""


def expand(paths: Iterable[str | os.PathLike[str]]) -> ExpandedPaths:
    """Find the archives. Opens none of them, and raises for no path.

    Folders are searched for the suffixes `.jsonl` and `.json`, also followed by `.gz` or `.zst`.
    Messages and parts of an OpenCode store belong to its sessions. A file that the user names is
    used regardless of its name.
    """
    archives: dict[str, Path] = {}
    problems: dict[str, Problem] = {}
    for path in paths:
        for item in _expand(os.path.expanduser(path)):  # noqa: PTH111  Path() drops a final /
            if isinstance(item, Problem):
                problems.setdefault(item.message, item)
            else:
                archives.setdefault(item.real_path, Path(item.path))
    ordered = sorted(archives.values(), key=lambda path: path.parts)
    return ExpandedPaths(tuple(ordered), tuple(problems.values()))


def _expand(path: str) -> Iterable[FoundFile | Problem]:
    if url_scheme(path):
        what = "is a URL, and archives are read from this machine; copy them to a folder of it"
        return [_problem(path, SkipReason.MISSING, what)]
    if os.path.lexists(path):
        return _existing(path)
    if not glob.has_magic(path):
        return [_problem(path, SkipReason.MISSING, "does not exist; check the path")]
    items = [item for match in _matches(path) for item in match]
    return items or [
        _problem(path, SkipReason.MISSING, "matches no file with an archive suffix; check the glob")
    ]


def _existing(given: str) -> Iterable[FoundFile | Problem]:
    path = Path(given)
    if path.is_dir():
        what = "holds no .jsonl or .json file, compressed or not; name another folder"
        return list(_search(given)) or [_problem(path, SkipReason.EMPTY, what)]
    if path.is_file():
        return [_named_file(given)]
    what = "is neither a file nor a folder; name an archive"
    return [_problem(path, SkipReason.NOT_A_FILE, what)]


def _search(folder: str) -> Iterator[FoundFile | Problem]:
    """Yield the archives in a folder, and then what could not be searched."""
    problems: list[Problem] = []

    def on_problem(path: str, reason: SkipReason, what: str) -> None:
        problems.append(_problem(path, reason, what))

    store_members = []
    for file in walk_files(folder, on_problem):
        if file.path.endswith(".json") and opencode_store.is_store_member(Path(file.path)):
            store_members.append(Path(file.path))
        else:
            yield file
    for parts, number in opencode_store.orphan_parts(store_members):
        on_problem(str(parts), SkipReason.ORPHAN, f"holds {number:,} parts of a missing message")
    yield from problems


def _matches(pattern: str) -> Iterator[Iterable[FoundFile | Problem]]:
    """Yield the archives that a glob matches, and those in the folders that it matches."""
    parts = Path(pattern).parts
    if _ANY_DEPTH not in parts:
        for match in sorted(glob.glob(pattern)):  # noqa: PTH207  takes absolute patterns
            if os.path.isdir(match):  # noqa: PTH112 - as glob returns it
                yield _search(match)
            elif has_archive_suffix(match):
                yield [_named_file(match)]
        return
    # Not left to `glob`, which does not terminate where links form a cycle.
    depth = parts.index(_ANY_DEPTH)
    for top in sorted(glob.glob(str(Path(*parts[:depth])))):  # noqa: PTH207 - as above
        yield _matches_below(top, parts[depth:])


def _matches_below(top: str, pattern: Sequence[str]) -> Iterator[FoundFile | Problem]:
    for item in _search(top):
        if isinstance(item, Problem) or _matches_parts(
            pattern, Path(item.path).relative_to(top).parts
        ):
            yield item


def _matches_parts(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether a pattern matches a path or one of its parent folders."""
    if not pattern:
        return True
    if pattern[0] != _ANY_DEPTH:
        return (
            bool(parts)
            and _matches_name(parts[0], pattern[0])
            and _matches_parts(pattern[1:], parts[1:])
        )
    hidden = (depth for depth, part in enumerate(parts) if part.startswith("."))
    deepest = next(hidden, len(parts))
    return any(_matches_parts(pattern[1:], parts[depth:]) for depth in range(deepest + 1))


def _matches_name(name: str, pattern: str) -> bool:
    """Match as a shell does: a pattern must start with a dot to match a hidden name."""
    return fnmatchcase(name, pattern) and name.startswith(".") <= pattern.startswith(".")


def _named_file(path: str) -> FoundFile:
    return FoundFile(path, os.path.realpath(path))


def _problem(path: str | Path, reason: SkipReason, what: str) -> Problem:
    # A `Path` of a URL lacks a slash.
    name = str(path) if url_scheme(path) else path_text(Path(path))
    return Problem(name, None, reason, f"`{name}` {what}.")
