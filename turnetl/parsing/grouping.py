"""The group of an archive's turns: by default one group for each project.

The user's choices take precedence in this order: a fixed name with --group, as it is if the lake
has a group of that name, the first matching entry of the group map file, a template with --group,
the default. All conditions of an entry must hold; of each list, one pattern must match:

    [[group]]
    name = "shop"
    folders = ["~/code/shop*"]
"""

import re
import string
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from turnetl import formats
from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.base.projects import home_relative, path_folders, project, project_root, user
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described
from turnetl.base.text import listed


@dataclass(frozen=True, slots=True)
class GroupMapEntry:
    name: str
    """A name or a template."""
    folders: tuple[re.Pattern[str], ...]
    """Patterns of the working directory; empty: any."""
    archives: tuple[re.Pattern[str], ...]
    """Patterns of the archive's path; empty: any."""
    formats: tuple[str, ...]

    def matches(self, cwd: Sequence[str], format_name: str, archive: Sequence[str]) -> bool:
        """Return whether an archive meets the conditions; both paths are `path_variants`."""
        return (
            _any_matches(self.folders, cwd)
            and _any_matches(self.archives, archive)
            and (not self.formats or format_name in self.formats)
        )


def load_group_map(path: Path, content: bytes | None = None) -> tuple[GroupMapEntry, ...]:
    """Return the entries of a group map file, in order; `content` saves reading it again."""
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
    check_template(entry.name, where)
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


_SHOWN_FOLDERS = 4


@dataclass(frozen=True, slots=True)
class Grouping:
    """The user's choices about groups; without any, one group for each project."""

    template: str | None = None
    """The value of --group, a name or a template; None for the default."""
    user: str = ""
    """Value of {user} for a working directory that is in no home folder."""
    host: str = ""
    map_entries: tuple[GroupMapEntry, ...] = ()
    existing: GroupId | None = None
    """A group that exists, whatever its name: all archives go to it. None: there is none."""

    @property
    def is_fixed(self) -> bool:
        """Return whether all archives go to one group that the user named."""
        if self.existing is not None:
            return True
        return self.template is not None and is_fixed(self.template)

    @property
    def names(self) -> tuple[str, ...]:
        """The names and templates that the user chose, as `with_names` takes them."""
        template = () if self.template is None else (self.template,)
        return (*template, *(entry.name for entry in self.map_entries))

    def with_names(self, names: Sequence[str]) -> "Grouping":
        """Return the same choices with other names, in the order of `names`."""
        first_entry = len(names) - len(self.map_entries)
        entries = zip(self.map_entries, names[first_entry:], strict=True)
        return replace(
            self,
            template=names[0] if first_entry else None,
            map_entries=tuple(replace(entry, name=name) for entry, name in entries),
        )

    def group(self, cwd: str | None, format: str, archive: str) -> GroupId:  # noqa: A002  {format}
        """Return the group of an archive from redacted paths, without access to the disk."""
        explicit = self.explicit_group(cwd, format, archive)
        return explicit or bounded_group_id(ids.group_id(project(cwd)))

    def explicit_group(
        self,
        cwd: str | None,
        format: str,  # noqa: A002  {format}
        archive: str,
    ) -> GroupId | None:
        """Return the group that the user named for such an archive; None: the default applies."""
        if self.existing is not None:
            return self.existing
        template = self._mapped_name(cwd, format, archive) or self.template
        if template is None:
            return None
        values = {
            "project": project(cwd),
            "format": format,
            "user": user(cwd) or self.user,
            "host": self.host,
        }
        return expand_template(template, values)

    def is_intentional(self, cwd: str | None, format: str, archive: str) -> bool:  # noqa: A002
        return self.is_fixed or self._mapped_name(cwd, format, archive) is not None

    def _mapped_name(self, cwd: str | None, format_name: str, archive: str) -> str | None:
        if not self.map_entries or self.is_fixed:
            return None
        folders, paths = path_variants(cwd), path_variants(archive)
        names = (
            entry.name for entry in self.map_entries if entry.matches(folders, format_name, paths)
        )
        return next(names, None)


@dataclass(frozen=True, slots=True)
class NameCollision:
    """A group that several folders share only because they have the same name."""

    group: GroupField
    folders: Annotated[tuple[str, ...], described("The folders, sorted.")]
    """`~` is any home folder."""

    @property
    def message(self) -> str:
        folders = listed([f"`{folder}`" for folder in self.folders], _SHOWN_FOLDERS)
        return (
            f"group `{self.group}` joins {len(self.folders):,} folders: {folders}; "
            "if they are not one project, separate them with --group-map."
        )


def load_grouping(
    template: str | None,
    map_file: Path | None,
    *,
    user: str,
    host: str,
    map_content: bytes | None = None,
) -> Grouping:
    """Return the grouping for the values of --group and --group-map.

    `user` is who runs turnetl; it counts for a working directory that names no user. `map_content`
    is that of the map file, if it was read before.

    Raises:
        BadUsage: an unknown placeholder or an invalid file; the message says where and what to do.
    """
    if template is not None:
        check_template(template, "--group")
    entries = load_group_map(map_file, map_content) if map_file is not None else ()
    return Grouping(template, user, host, entries)


def find_name_collisions(
    archives: Iterable[tuple[str | None, GroupId]],
) -> tuple[NameCollision, ...]:
    """Return the groups that join folders of several projects by their names alone, sorted.

    `archives` are the working directory and the group of each that the user did not group.
    """
    folders_by_group: dict[GroupId, dict[str, str]] = {}
    for cwd, group in archives:
        folder = project_root(cwd)
        if folder is not None:
            folders = folders_by_group.setdefault(group, {})
            folders.setdefault(folder.lower(), folder)
    return tuple(
        NameCollision(group, tuple(sorted(folders.values())))
        for group, folders in sorted(folders_by_group.items())
        if len(folders) > 1
    )


PLACEHOLDERS = ("project", "format", "user", "host")
_VALID = "the placeholders are " + ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
_MAX_CHARS = 120
"""Characters of a group id: it is the name of a folder and of a file."""


def check_template(template: str, where: str) -> None:
    """Raise `BadUsage` for an invalid template; the message starts with `where`."""
    try:
        parts = list(_FORMATTER.parse(template))
    except ValueError:
        raise BadUsage(f"{where}: `{template}` has an unmatched brace; {_VALID}") from None
    for _, field, spec, conversion in parts:
        if field is not None and (field not in PLACEHOLDERS or spec or conversion):
            invalid = f"{field}{'!' + conversion if conversion else ''}{':' + spec if spec else ''}"
            raise BadUsage(f"{where}: `{{{invalid}}}` is not a placeholder; {_VALID}")
    if not any(field or any(map(str.isalnum, text)) for text, field, _, _ in parts):
        raise BadUsage(
            f"{where}: the group has no name, because `{template}` has neither letters nor digits; "
            f"add some, or a placeholder ({_VALID})"
        )


def is_fixed(template: str) -> bool:
    """Return whether all archives get the same name."""
    return all(field is None for _, field, _, _ in _FORMATTER.parse(template))


def expand_template(template: str, values: Mapping[str, str]) -> GroupId:
    """Return the group id that a valid template gives.

    Each value becomes one token by itself, so that two projects in another script stay two groups.
    """
    tokens = {name: ids.group_id(value) for name, value in values.items()}
    return bounded_group_id(ids.group_id(template.format_map(tokens)))


def bounded_group_id(group: GroupId) -> GroupId:
    """Return a group id, or its head and a digest if it is too long for a folder name."""
    if len(group) <= _MAX_CHARS:
        return group
    return GroupId(f"{group[: _MAX_CHARS - 9]}_{ids.digest(group)[:8]}")


_FORMATTER = string.Formatter()
