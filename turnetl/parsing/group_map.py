"""The group map file: archives that go to another group than their default one.

    [[group]]
    name = "shop"
    folders = ["~/work/shop*"]

The first matching entry wins. All conditions of an entry must hold; of each list, one pattern must
match.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from turnetl import formats
from turnetl.base.errors import BadUsage
from turnetl.parsing import group_names
from turnetl.parsing.projects import home_relative, path_folders


@dataclass(frozen=True, slots=True)
class GroupMapEntry:
    """One entry: a name, and the conditions for an archive to get it."""

    name: str
    """A name or a template."""
    folders: tuple[re.Pattern[str], ...]
    """Patterns of the working directory; empty: any."""
    archives: tuple[re.Pattern[str], ...]
    """Patterns of the archive's path; empty: any."""
    formats: tuple[str, ...]

    def matches(self, cwd: Sequence[str], format_name: str, archive: Sequence[str]) -> bool:
        """Return whether an archive meets the conditions.

        Args:
            cwd: the working directory, as `path_variants` returns it.
            format_name: the archive's format.
            archive: the archive's path, as `path_variants` returns it.
        """
        return (
            _any_matches(self.folders, cwd)
            and _any_matches(self.archives, archive)
            and (not self.formats or format_name in self.formats)
        )


def load_group_map(path: Path, content: bytes | None = None) -> tuple[GroupMapEntry, ...]:
    """Return the entries of a group map file, in order.

    Args:
        path: of the file.
        content: of the file, if it was read before.

    Raises:
        BadUsage: the file cannot be read, or an entry is invalid; the message names the entry.
    """
    rows = _read_file(path, content).group
    return tuple(_entry(row, f"`{path}`, entry {number}") for number, row in enumerate(rows, 1))


def path_variants(path: str | None) -> tuple[str, ...]:
    """Return the forms of a path that a pattern may match: absolute, and relative to the home."""
    if path is None:
        return ()
    folders = path_folders(path)
    absolute, relative = "/".join(["", *folders]), home_relative(folders)
    return (absolute, relative) if relative else (absolute,)


class _GroupMapFile(msgspec.Struct, forbid_unknown_fields=True):
    group: list[dict[str, Any]] = []


class _GroupMapRow(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    folders: list[str] = []
    archives: list[str] = []
    formats: list[str] = []


def _read_file(path: Path, content: bytes | None) -> _GroupMapFile:
    try:
        text = (path.read_bytes() if content is None else content).decode("utf-8-sig")
        return msgspec.convert(tomllib.loads(text.replace("\r\n", "\n")), _GroupMapFile)
    except OSError as error:
        cause = error.strerror or str(error)
        raise BadUsage(f"the group map `{path}` cannot be read ({cause}); name another") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadUsage(f"`{path}` is not valid TOML: {error}; correct it") from error
    except msgspec.ValidationError as error:
        raise BadUsage(f"`{path}`: {error}; entries start with [[group]]") from error


def _entry(row: dict[str, Any], where: str) -> GroupMapEntry:
    try:
        entry = msgspec.convert(row, _GroupMapRow)
    except msgspec.ValidationError as error:
        raise BadUsage(
            f"{where}: {error}; an entry has a name, and folders, archives or formats"
        ) from error
    where = f"{where} (`{entry.name}`)"
    group_names.check_template(entry.name, where)
    if not (entry.folders or entry.archives or entry.formats):
        raise BadUsage(f"{where} matches every archive; add folders, archives or formats")
    _check_formats(entry.formats, where)
    return GroupMapEntry(
        entry.name,
        tuple(_compile(pattern, where) for pattern in entry.folders),
        tuple(_compile(pattern, where) for pattern in entry.archives),
        tuple(entry.formats),
    )


def _check_formats(names: list[str], where: str) -> None:
    known = [format_.name for format_ in formats.FORMATS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BadUsage(
            f"{where}: `{unknown[0]}` is not a format; the formats are {', '.join(known)}"
        )


def _any_matches(patterns: Sequence[re.Pattern[str]], forms: Sequence[str]) -> bool:
    return not patterns or any(pattern.fullmatch(form) for pattern in patterns for form in forms)


def _compile(text: str, where: str) -> re.Pattern[str]:
    """Return a pattern that matches the path and everything below it, in upper and lower case.

    `*` and `?` stay within a folder, `**` is any number of folders, and `~` is any home folder. A
    pattern that does not start at the root may match from any folder on.
    """
    if not text.strip():
        raise BadUsage(f"{where}: a pattern is empty; write a path")
    folders = path_folders(text)
    has_anchor = folders[:1] == ["~"] or folders[:1] == ["**"]
    is_rooted = text.lstrip().startswith(("/", "\\")) or (folders and folders[0].endswith(":"))
    if not has_anchor and not is_rooted:
        folders = ["**", *folders]
    regex = "".join(map(_folder_regex, folders)).removeprefix("/" if folders[:1] == ["~"] else "")
    return re.compile(f"{regex}(?:/.*)?", re.IGNORECASE | re.DOTALL)


def _folder_regex(folder: str) -> str:
    if folder == "**":
        return "(?:/[^/]+)*"
    wildcards = {"*": "[^/]*", "?": "[^/]"}
    return "/" + "".join(wildcards.get(char, re.escape(char)) for char in folder)
