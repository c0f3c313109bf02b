"""The configuration in a folder: the files that turnetl would read, with their digests."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from turnetl.base.private_files import NotReadable, read_regular
from turnetl.base.results import described

CONFIG_NAME = "graphiti.config.json"
USER_FOLDER = ".graphiti"
"""Folder of prices and templates, in a project as in the home folder."""
TEMPLATES = (f"{USER_FOLDER}/templates", f"{USER_FOLDER}/templates/ontology")
PRICES = f"{USER_FOLDER}/prices.toml"
_MAX_BYTES = 1_000_000
_MAX_TEMPLATE_BYTES = 64 * 1024
_MAX_FILES = 500
_NAMED_IN_CONFIG = (("noise", "rules"), ("group_map",))
"""Settings that name a file."""


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file of the configuration of a folder."""

    name: Annotated[str, described("Its path from the folder, with slashes.")]
    digest: Annotated[str, described("SHA-256 of its content; empty if it cannot be used.")]
    problem: Annotated[str | None, described("Why it cannot be used; null if it can.")] = None
    """As the end of a sentence that begins with its name."""


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    folder: Path
    """Absolute, without links."""
    files: tuple[ProjectFile, ...]
    """Sorted by name."""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """The content of each file that can be used, by name: the bytes of the digest."""
    named: Mapping[Path, bytes] = field(default_factory=dict)
    """The content of each file that the config file names, by the path that it gives."""

    @property
    def config(self) -> bytes | None:
        """The content of the config file; None if there is none that can be used."""
        return self.contents.get(CONFIG_NAME)

    @property
    def digests(self) -> Mapping[str, str]:
        return {file.name: file.digest for file in self.files}

    @property
    def unusable(self) -> tuple[ProjectFile, ...]:
        return tuple(file for file in self.files if file.problem is not None)


def read_project(folder: Path, home: Path) -> ProjectFiles:
    """Read the configuration in a folder. Follows no symbolic link below the folder.

    The `.graphiti` of the home folder is the user's own.
    """
    root = folder.resolve()
    files: dict[str, ProjectFile] = {}
    contents: dict[str, bytes] = {}

    def read(name: str) -> None:
        if name in files or not os.path.lexists(root / name):
            return
        try:
            contents[name] = _content(root / name, name)
        except NotReadable as error:
            files[name] = ProjectFile(name, "", str(error))
        else:
            files[name] = ProjectFile(name, hashlib.sha256(contents[name]).hexdigest())

    read(CONFIG_NAME)
    paths = _named_paths(root, contents.get(CONFIG_NAME))
    names = [*_in_user_folder(root, home), *(name for _, name in paths)]
    for name in names[:_MAX_FILES]:
        read(name)
    if len(names) > _MAX_FILES:
        problem = f"holds more than {_MAX_FILES:,} files"
        files[USER_FOLDER] = ProjectFile(USER_FOLDER, "", problem)
    named = {path: contents[name] for path, name in paths if name in contents}
    return ProjectFiles(root, tuple(files[name] for name in sorted(files)), contents, named)


def turnetl_section(config: bytes | None) -> Mapping[str, Any]:
    """Return the `turnetl` section of a config file; empty if there is none or it is invalid."""
    try:
        content = msgspec.json.decode(config or b"{}")
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    section = content.get("turnetl") if isinstance(content, dict) else None
    return section if isinstance(section, dict) else {}


def _content(path: Path, name: str) -> bytes:
    _check_no_link_above(path)
    return read_regular(path, _MAX_TEMPLATE_BYTES if name.startswith(TEMPLATES) else _MAX_BYTES)


def _check_no_link_above(path: Path) -> None:
    try:
        parent = path.parent.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise NotReadable("is not a file") from error
    if parent != path.parent:
        raise NotReadable("lies below a symbolic link")


def _in_user_folder(root: Path, home: Path) -> Iterator[str]:
    if root == home.resolve():
        return
    yield PRICES
    for folder in TEMPLATES:
        for name in _names(root / folder):
            # Folders between templates are not read.
            if f"{folder}/{name}" not in TEMPLATES:
                yield f"{folder}/{name}"


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def _named_paths(root: Path, config: bytes | None) -> list[tuple[Path, str]]:
    """Return the paths in the config file that lead into the folder, each with its names there."""
    section = turnetl_section(config)
    found: list[tuple[Path, str]] = []
    for setting in _NAMED_IN_CONFIG:
        value: Any = section
        for step in setting:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, str) and value and "\0" not in value:
            path = Path(os.path.expanduser(value))  # noqa: PTH111 - also for an unknown user
            found += [(path, name) for name in _names_in(root, root / path)]
    return found


def _names_in(root: Path, path: Path) -> Iterator[str]:
    """Yield the names under which a path is in a folder: by its steps, and by its links."""
    # A link elsewhere, such as `/proc/self/cwd`, may lead back into the folder.
    for named in (os.path.normpath(path), os.path.realpath(path)):
        if Path(named) != root and Path(named).is_relative_to(root):
            yield Path(named).relative_to(root).as_posix()
