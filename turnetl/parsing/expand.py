"""Expansion of the paths that the user gives (files, folders, globs) into archives."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from turnetl.errors import BadArchive
from turnetl.lake import path_text
from turnetl.lake.paths import file_holding
from turnetl.object_url import SCHEMES, archive_url
from turnetl.parsing import opencode_store, prompt_history
from turnetl.parsing.archive_files import ArchiveFiles
from turnetl.parsing.local_archives import LOCAL
from turnetl.parsing.other_files import is_beside_session
from turnetl.parsing.report import OTHER_KINDS, Problem
from turnetl.parsing.walk import FoundFile, has_archive_suffix
from turnetl.skip_reasons import SkipReason
from turnetl.url_scheme import url_scheme

_ANY_DEPTH = "**"
_NAMED = 3
"""Names of further files of a kind that are printed."""
_NO_ARCHIVE = "holds no .jsonl or .json file, compressed or not; name another folder"
_NO_MATCH = "matches no file with an archive suffix; check the glob"


@dataclass(frozen=True, slots=True)
class ExpandedPaths:
    """The archives that paths lead to."""

    archives: tuple[Path, ...]
    """Each once, sorted."""
    problems: tuple[Problem, ...]
    """One for each path without an archive, and for each skipped entry of a folder."""


def expand(paths: Iterable[str | os.PathLike[str]], files: ArchiveFiles = LOCAL) -> ExpandedPaths:
    """Find the archives. Reads none of them but the history of prompts of Claude Code.

    Folders, also those of an object store, are searched for the suffixes `.jsonl` and `.json`, also
    followed by `.gz` or `.zst`. Messages and parts of an OpenCode store belong to its sessions. A
    file that the user names is used regardless of its name.

    Args:
        paths: files, folders or globs.
        files: where they are.

    Raises:
        Fatal, ArchivesBusy: an object store cannot be used, or does not respond. No other path
            makes this function raise.
    """
    archives: dict[str, Path] = {}
    problems: dict[str, Problem] = {}
    given = [os.path.expanduser(path) for path in paths]  # noqa: PTH111  Path() drops a final /
    files.look_up(_named_objects(given))
    for path in given:
        for item in _expand(path, files):
            if isinstance(item, Problem):
                problems.setdefault(item.message, item)
            else:
                archives |= {
                    real: path for real, path in _archives_in(item, files) if real not in archives
                }
    ordered = sorted(archives.values(), key=lambda path: path.parts)
    return ExpandedPaths(tuple(ordered), tuple(problems.values()))


def _archives_in(file: FoundFile, files: ArchiveFiles) -> list[tuple[str, Path]]:
    """Return the archives in a file, each with its real path."""
    path = Path(file.path)
    archives = prompt_history.project_archives(path, files)
    return [(file.real_path + str(one)[len(str(path)) :], one) for one in archives]


def _named_objects(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the paths that probably are objects and not folders of an object store."""
    for path in paths:
        with suppress(ValueError):
            if has_archive_suffix(path) and (url := archive_url(path)) is not None:
                yield Path(str(url))


def _expand(path: str, files: ArchiveFiles) -> Iterable[FoundFile | Problem]:
    if (scheme := url_scheme(path)) is not None and scheme in files.schemes:
        return _in_object_store(path, scheme, files)
    if scheme:
        others = ", ".join(f"`{known}://`" for known in SCHEMES)
        what = (
            f"is a URL, and archives are read from this machine or from {others}; copy them to a "
            "folder"
        )
        return [_problem(path, SkipReason.MISSING, what)]
    if os.path.lexists(path):
        return _existing(path)
    if prompt_history.is_project_archive(Path(path)) and file_holding(Path(path)).is_file():
        return [FoundFile(path, os.path.realpath(path))]
    if not glob.has_magic(path):
        return [_problem(path, SkipReason.MISSING, "does not exist; check the path")]
    items = [item for match in _matches(path) for item in match]
    return items or [_problem(path, SkipReason.MISSING, _NO_MATCH)]


def _in_object_store(given: str, scheme: str, files: ArchiveFiles) -> Iterable[FoundFile | Problem]:
    try:
        url = archive_url(given)
    except ValueError as error:
        return [_problem(f"{scheme}://", SkipReason.MISSING, str(error))]
    path = Path(str(url))
    try:
        return list(_objects(path, files))
    except BadArchive as error:
        return [Problem(path_text(path), None, error.reason, str(error))]


def _objects(path: Path, files: ArchiveFiles) -> Iterable[FoundFile | Problem]:
    """Return the archives of a URL.

    Raises:
        BadArchive: they cannot be listed.
    """
    if has_archive_suffix(path.name) and files.is_file(path):
        return [FoundFile(str(path), str(path))]
    if files.is_folder(path):
        return list(_search(path, files)) or [_problem(path, SkipReason.EMPTY, _NO_ARCHIVE)]
    if files.is_file(path):
        return [FoundFile(str(path), str(path))]
    depth = next((place for place, part in enumerate(path.parts) if glob.has_magic(part)), None)
    if depth is None:
        what = "does not exist, and no object is below it; check the URL"
        return [_problem(path, SkipReason.MISSING, what)]
    items = list(_matches_below(Path(*path.parts[:depth]), path.parts[depth:], files))
    return items or [_problem(path, SkipReason.MISSING, _NO_MATCH)]


def _existing(given: str) -> Iterable[FoundFile | Problem]:
    path = Path(given)
    if path.is_dir():
        return list(_search(path, LOCAL)) or [_problem(path, SkipReason.EMPTY, _NO_ARCHIVE)]
    if path.is_file():
        return [_named_file(given)]
    what = "is neither a file nor a folder; name an archive"
    return [_problem(path, SkipReason.NOT_A_FILE, what)]


def _search(folder: Path, files: ArchiveFiles) -> Iterator[FoundFile | Problem]:
    """Yield the archives in a folder, and then what could not be searched."""
    problems: list[Problem] = []

    def on_problem(path: str, reason: SkipReason, what: str) -> None:
        if reason in OTHER_KINDS:
            others.setdefault((reason, what), []).append(path)
        else:
            problems.append(_problem(Path(path), reason, what))

    others: dict[tuple[SkipReason, str], list[str]] = {}
    store_members = []
    for file in files.walk(folder, on_problem):
        if file.path.endswith(".json") and _is_store_member(Path(file.path), files):
            store_members.append(Path(file.path))
        elif not is_beside_session(file.path):
            yield file
    with suppress(BadArchive):
        for parts, number in opencode_store.orphan_parts(store_members, files):
            what = f"holds {number:,} parts of a missing message"
            on_problem(str(parts), SkipReason.ORPHAN, what)
    yield from problems
    for (reason, what), paths in others.items():
        problem = _problem(Path(paths[0]), reason, f"is {what}", _others(paths[1:]))
        yield replace(problem, files=len(paths))


def _others(paths: Sequence[str]) -> str:
    """Return what follows the first of several names in a sentence."""
    if not paths:
        return ""
    named = "".join(f", `{Path(path).name}`" for path in paths[:_NAMED])
    more = f", and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    return f"{named}{more}: each"


def _is_store_member(path: Path, files: ArchiveFiles) -> bool:
    """Return whether a file is no archive; one of which that is not known is reported as one."""
    try:
        return opencode_store.is_store_member(path, files)
    except BadArchive:
        return False


def _matches(pattern: str) -> Iterator[Iterable[FoundFile | Problem]]:
    """Yield the archives that a glob matches, and those in the folders that it matches."""
    parts = Path(pattern).parts
    if _ANY_DEPTH not in parts:
        for match in sorted(glob.glob(pattern)):  # noqa: PTH207  takes absolute patterns
            if os.path.isdir(match):  # noqa: PTH112 - as glob returns it
                yield _search(Path(match), LOCAL)
            elif has_archive_suffix(match):
                yield [_named_file(match)]
        return
    # Not left to `glob`, which does not terminate where links form a cycle.
    depth = parts.index(_ANY_DEPTH)
    for top in sorted(glob.glob(str(Path(*parts[:depth])))):  # noqa: PTH207 - as above
        yield _matches_below(Path(top), parts[depth:], LOCAL)


def _matches_below(
    top: Path, pattern: Sequence[str], files: ArchiveFiles
) -> Iterator[FoundFile | Problem]:
    for item in _search(top, files):
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


def _problem(path: str | Path, reason: SkipReason, what: str, more: str = "") -> Problem:
    # The path of a URL lacks a slash, which only the URLs of object stores get back.
    name = path if isinstance(path, str) and url_scheme(path) else path_text(Path(path))
    return Problem(name, None, reason, f"`{name}`{more} {what}.")
