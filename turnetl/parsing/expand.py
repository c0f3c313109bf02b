"""The archives that the user's paths (files, folders, globs) lead to, and those of a shard.

A shard parses first its own, then those that the other shards did not parse yet. The key of an
archive is that of its turns file, so that every path to it leads to the same shard.
"""

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from turnetl.base.errors import BadArchive
from turnetl.base.object_url import SCHEMES, archive_url, path_text, url_scheme
from turnetl.base.reason import SkipReason
from turnetl.base.shard import Shard
from turnetl.lake import archive_digests, is_object
from turnetl.lake.paths import file_holding, may_be_database
from turnetl.parsing import opencode_store, prompt_history
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles
from turnetl.parsing.parse_report import Problem
from turnetl.parsing.session_databases import SessionDatabases
from turnetl.parsing.walk import (
    KINDS,
    FoundFile,
    OtherFile,
    has_archive_suffix,
    is_agents_database,
    is_beside_session,
    unread_kind,
)

_ANY_DEPTH = "**"
_NAMED = 3
"""Names of further files of a kind that are printed."""
_NO_ARCHIVE = "holds no .jsonl or .json file, compressed or not; name another folder"
_NO_MATCH = "matches no file with an archive suffix; check the glob"


_Item = FoundFile | OtherFile | Problem


@dataclass(frozen=True, slots=True)
class ExpandedPaths:
    archives: tuple[Path, ...]
    """Each once, sorted."""
    problems: tuple[Problem, ...]
    """One for each path without an archive, and for each skipped entry of a folder."""
    other_files: Mapping[SkipReason, int] = field(default_factory=dict)
    """The number of files in folders that are no archives, by reason. Each is counted once."""


def expand(paths: Iterable[str | os.PathLike[str]], files: ArchiveFiles = LOCAL) -> ExpandedPaths:
    """Find the archives. Reads none of them but the history of prompts of Claude Code.

    Folders, also those of an object store, are searched for the suffixes `.jsonl` and `.json`, also
    followed by `.gz` or `.zst`, for the histories of Aider and, on this machine, for the sessions
    in databases of agents. Messages and parts of an OpenCode store belong to its sessions. A file
    that the user names is used regardless of its name.

    Raises:
        Fatal, ArchivesBusy: an object store cannot be used, or does not respond. No other path
            makes this function raise.
    """
    archives: dict[str, Path] = {}
    problems: dict[str, Problem] = {}
    others: dict[str, OtherFile] = {}
    real_folder = cache(os.path.realpath)
    given = [os.path.expanduser(path) for path in paths]  # noqa: PTH111  Path() drops a final /
    files.look_up(_named_objects(given))
    with SessionDatabases() as databases:
        for item in (item for path in given for item in _expand(path, files)):
            found = _archives_in(item, databases, files)
            if isinstance(found, Problem):
                problems.setdefault(found.message, found)
            elif isinstance(found, OtherFile):
                others.setdefault(_real_path(found.path, real_folder), found)
            else:
                # Of two names of one file in a folder, the last one counts.
                for real, archive in dict(found).items():
                    archives.setdefault(real, archive)
    ordered = sorted(archives.values(), key=lambda path: path.parts)
    unread = [other for real, other in others.items() if real not in archives]
    counts = Counter(other.reason for other in unread)
    return ExpandedPaths(tuple(ordered), (*problems.values(), *_sentences(unread)), counts)


_Found = list[tuple[str, Path]] | Problem | OtherFile
"""Archives with their real paths, or why there are none."""


def _archives_in(item: _Item, databases: SessionDatabases, files: ArchiveFiles) -> _Found:
    if isinstance(item, Problem):
        return item
    path = Path(item.path)
    if may_be_database(path.name) and not is_object(path):
        return _sessions_in(item, databases)
    if isinstance(item, OtherFile):
        return item
    archives = prompt_history.project_archives(path, files)
    return [(item.real_path + str(one)[len(str(path)) :], one) for one in archives]


def _sessions_in(item: FoundFile | OtherFile, databases: SessionDatabases) -> _Found:
    """Return the sessions in a database, or the item itself if the database is no agent's."""
    path, real = Path(item.path), os.path.realpath(item.path)
    unread = [(real, path)] if isinstance(item, FoundFile) else item
    try:
        sessions = databases.sessions(path)
    except BadArchive as error:
        is_agents = unread is not item or is_agents_database(path.name)
        return Problem(path_text(path), None, error.reason, str(error)) if is_agents else unread
    if sessions is None:
        return unread
    if not sessions and unread is not item:
        return _problem(path, SkipReason.EMPTY, "holds no session; name another database")
    return [(str(Path(real, one.name)), one) for one in sessions]


def _named_objects(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the paths that probably are objects and not folders of an object store."""
    for path in paths:
        with suppress(ValueError):
            if has_archive_suffix(path) and (url := archive_url(path)) is not None:
                yield Path(str(url))


def _expand(path: str, files: ArchiveFiles) -> Iterable[_Item]:
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
    if (holding := file_holding(Path(path))) != Path(path) and holding.is_file():
        return [_named_file(path)]
    if not glob.has_magic(path):
        return [_problem(path, SkipReason.MISSING, "does not exist; check the path")]
    items = [item for match in _matches(path) for item in match]
    return _or_problem(items, _problem(path, SkipReason.MISSING, _NO_MATCH))


def _in_object_store(given: str, scheme: str, files: ArchiveFiles) -> Iterable[_Item]:
    try:
        url = archive_url(given)
    except ValueError as error:
        return [_problem(f"{scheme}://", SkipReason.MISSING, str(error))]
    path = Path(str(url))
    try:
        return list(_objects(path, files))
    except BadArchive as error:
        return [Problem(path_text(path), None, error.reason, str(error))]


def _objects(path: Path, files: ArchiveFiles) -> Iterable[_Item]:
    if has_archive_suffix(path.name) and files.is_file(path):
        return [FoundFile(str(path), str(path))]
    if files.is_folder(path):
        return _in_folder(path, files)
    if files.is_file(path):
        return [FoundFile(str(path), str(path))]
    depth = next((place for place, part in enumerate(path.parts) if glob.has_magic(part)), None)
    if depth is None:
        what = "does not exist, and no object is below it; check the URL"
        return [_problem(path, SkipReason.MISSING, what)]
    items = list(_matches_below(Path(*path.parts[:depth]), path.parts[depth:], files))
    return _or_problem(items, _problem(path, SkipReason.MISSING, _NO_MATCH))


def _existing(given: str) -> Iterable[_Item]:
    path = Path(given)
    if path.is_dir():
        return _in_folder(path, LOCAL)
    if path.is_file():
        return [_named_file(given)]
    what = "is neither a file nor a folder; name an archive"
    return [_problem(path, SkipReason.NOT_A_FILE, what)]


def _in_folder(folder: Path, files: ArchiveFiles) -> Iterable[_Item]:
    empty = _problem(folder, SkipReason.EMPTY, _NO_ARCHIVE)
    return _or_problem(list(_search(folder, files)), empty)


def _or_problem(items: Sequence[_Item], problem: Problem) -> Sequence[_Item]:
    """Return the items, and the problem if there is no archive and no sentence among them."""
    says_nothing = all(isinstance(item, OtherFile) and not item.what for item in items)
    return [*items, problem] if says_nothing else items


def _search(folder: Path, files: ArchiveFiles) -> Iterator[_Item]:
    """Yield the archives in a folder, and then what could not be searched or is no archive."""
    others: list[OtherFile | Problem] = []

    def on_problem(path: str, reason: SkipReason, what: str) -> None:
        is_other = reason in KINDS
        others.append(
            OtherFile(path, reason, what) if is_other else _problem(Path(path), reason, what)
        )

    store_members = []
    for file in files.walk(folder, on_problem):
        if file.path.endswith(".json") and _is_store_member(Path(file.path), files):
            store_members.append(Path(file.path))
        elif is_beside_session(file.path):
            others.append(OtherFile(file.path, SkipReason.BESIDE_SESSION, ""))
        else:
            yield file
    with suppress(BadArchive):
        for parts, number in opencode_store.orphan_parts(store_members, files):
            what = f"holds {number:,} parts of a missing message"
            on_problem(str(parts), SkipReason.ORPHAN, what)
    yield from others


def _sentences(others: Iterable[OtherFile]) -> Iterator[Problem]:
    """Yield a problem for all files about which the same is to be said."""
    kinds: dict[tuple[SkipReason, str], list[str]] = {}
    for other in others:
        if other.what:
            kinds.setdefault((other.reason, other.what), []).append(other.path)
    for (reason, what), paths in kinds.items():
        yield _problem(Path(paths[0]), reason, f"is {what}", _others(paths[1:]))


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


def _matches(pattern: str) -> Iterator[Iterable[_Item]]:
    """Yield the archives that a glob matches, and those in the folders that it matches."""
    parts = Path(pattern).parts
    if _ANY_DEPTH not in parts:
        for match in sorted(glob.glob(pattern)):  # noqa: PTH207  takes absolute patterns
            if os.path.isdir(match):  # noqa: PTH112 - as glob returns it
                yield _search(Path(match), LOCAL)
            elif has_archive_suffix(match) and not is_beside_session(match):
                yield [_named_file(match)]
            elif os.path.isfile(match):  # noqa: PTH113 - as above
                yield [OtherFile(match, *unread_kind(match))]
        return
    # Not left to `glob`, which does not terminate where links form a cycle.
    depth = parts.index(_ANY_DEPTH)
    for top in sorted(glob.glob(str(Path(*parts[:depth])))):  # noqa: PTH207 - as above
        yield _matches_below(Path(top), parts[depth:], LOCAL)


def _matches_below(top: Path, pattern: Sequence[str], files: ArchiveFiles) -> Iterator[_Item]:
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


def _real_path(path: str, real_folder: Callable[[str], str]) -> str:
    """Return the same for every path that leads to the file."""
    if os.path.islink(path):  # noqa: PTH114 - as `_named_file`
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    return os.path.join(real_folder(folder), name)  # noqa: PTH118 - as above


def _named_file(path: str) -> FoundFile:
    return FoundFile(path, os.path.realpath(path))


def _problem(path: str | Path, reason: SkipReason, what: str, more: str = "") -> Problem:
    # The path of a URL lacks a slash, which only the URLs of object stores get back.
    name = path if isinstance(path, str) and url_scheme(path) else path_text(Path(path))
    return Problem(name, None, reason, f"`{name}`{more} {what}.")


def own_archives(shard: Shard | None, found: ExpandedPaths) -> ExpandedPaths:
    """Return the archives of the shard, with all problems; None: everything."""
    if shard is None:
        return found
    owned = [path for path, key in _keys(found.archives) if shard.owns(key)]
    return replace(found, archives=tuple(owned))


def other_archives(shard: Shard, found: ExpandedPaths) -> ExpandedPaths:
    """Return the archives of other shards, ordered so that shards rarely read the same ones."""
    others = [(shard.rank(key), path) for path, key in _keys(found.archives) if not shard.owns(key)]
    return ExpandedPaths(tuple(path for _, path in sorted(others, reverse=True)), ())


def _keys(archives: Sequence[Path]) -> list[tuple[Path, str]]:
    return list(zip(archives, archive_digests(archives), strict=True))
