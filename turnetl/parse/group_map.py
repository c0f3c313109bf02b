"""The map file: which archives go to another group than they would by themselves.

    [[group]]
    name = "shop"
    folders = ["~/work/shop*"]

Entries stand in order and the first that fits wins; all that stands in an entry must hold, of each
list one pattern.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from turnetl import formats
from turnetl.errors import BadUsage
from turnetl.parse import group_names
from turnetl.parse.projects import at_home, path_folders


@dataclass(frozen=True, slots=True)
class Entry:
    """One exception: a name, and what an archive must be like to get it."""

    name: str
    """A name or a template."""
    folders: tuple[re.Pattern[str], ...]
    """Of the working folder; empty for any."""
    archives: tuple[re.Pattern[str], ...]
    """Of the archive's path; empty for any."""
    formats: tuple[str, ...]

    def fits(self, cwd: Sequence[str], format_name: str, archive: Sequence[str]) -> bool:
        """Say whether an archive is like this; working folder and path as `names_of` gives them."""
        return (
            _one_fits(self.folders, cwd)
            and _one_fits(self.archives, archive)
            and (not self.formats or format_name in self.formats)
        )


def read_map(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a map file, in order.

    Raises:
        BadUsage: the file cannot be read or an entry makes no sense; says which.
    """
    rows = _file(path).group
    return tuple(_entry(row, f"`{path}`, entry {number}") for number, row in enumerate(rows, 1))


def names_of(path: str | None) -> tuple[str, ...]:
    """Return how a pattern may name a path: from the root, and from the home folder it is in."""
    if path is None:
        return ()
    folders = path_folders(path)
    whole, home = "/".join(["", *folders]), at_home(folders)
    return (whole, home) if home else (whole,)


class _File(msgspec.Struct, forbid_unknown_fields=True):
    group: list[dict[str, Any]] = []


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    folders: list[str] = []
    archives: list[str] = []
    formats: list[str] = []


def _file(path: Path) -> _File:
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8-sig")), _File)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadUsage(f"the map file `{path}` cannot be read ({why}); name another") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadUsage(f"`{path}` is no TOML: {error}; mend it") from error
    except msgspec.ValidationError as error:
        raise BadUsage(f"`{path}`: {error}; entries begin with [[group]]") from error


def _entry(row: dict[str, Any], where: str) -> Entry:
    try:
        said = msgspec.convert(row, _Row)
    except msgspec.ValidationError as error:
        raise BadUsage(
            f"{where}: {error}; an entry has a name, and folders, archives or formats"
        ) from error
    where = f"{where} (`{said.name}`)"
    group_names.check(said.name, where)
    if not (said.folders or said.archives or said.formats):
        raise BadUsage(f"{where} fits every archive; give it folders, archives or formats")
    _check_formats(said.formats, where)
    return Entry(
        said.name,
        tuple(_pattern(pattern, where) for pattern in said.folders),
        tuple(_pattern(pattern, where) for pattern in said.archives),
        tuple(said.formats),
    )


def _check_formats(named: list[str], where: str) -> None:
    known = [format_.name for format_ in formats.FORMATS]
    unknown = [name for name in named if name not in known]
    if unknown:
        raise BadUsage(f"{where}: there is no format `{unknown[0]}`; there are {', '.join(known)}")


def _one_fits(patterns: Sequence[re.Pattern[str]], names: Sequence[str]) -> bool:
    return not patterns or any(one.fullmatch(name) for one in patterns for name in names)


def _pattern(text: str, where: str) -> re.Pattern[str]:
    """Return what matches the path, and all below it; upper and lower case are the same.

    `*` and `?` stay in a folder, `**` is any number of them; `~` is anybody's home folder. A
    pattern that does not begin at the root may begin anywhere.
    """
    if not text.strip():
        raise BadUsage(f"{where}: an empty pattern; say what it shall match")
    folders = path_folders(text)
    begins = folders[:1] == ["~"] or folders[:1] == ["**"]
    is_rooted = text.lstrip().startswith(("/", "\\")) or (folders and folders[0].endswith(":"))
    if not begins and not is_rooted:
        folders = ["**", *folders]
    parts = "".join(map(_part, folders)).removeprefix("/" if folders[:1] == ["~"] else "")
    return re.compile(f"{parts}(?:/.*)?", re.IGNORECASE | re.DOTALL)


def _part(folder: str) -> str:
    if folder == "**":
        return "(?:/[^/]+)*"
    signs = {"*": "[^/]*", "?": "[^/]"}
    return "/" + "".join(signs.get(sign, re.escape(sign)) for sign in folder)
