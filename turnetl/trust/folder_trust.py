"""The configuration in a folder, whether it is trusted and why not, and where that is stored.

The trust store is a file of the user. It is written as a whole under a lock, so that two processes
lose nothing of each other.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from stat import S_IMODE
from typing import Annotated, Any

import msgspec

from turnetl.base import private_files
from turnetl.base.control_characters import displayed_name
from turnetl.base.errors import Fatal
from turnetl.base.private_files import NotReadable, read_regular
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import described
from turnetl.base.setting_values import SettingValue

if sys.platform != "win32":
    import fcntl

_NAME = "trust.json"
_LOCK_NAME = "trust.lock"
_VERSION = 1
_MAX_BYTES = 16_000_000
_WRITABLE_BY_OTHERS = 0o022


class TrustedFolder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    trusted_at: str
    """ISO 8601, in UTC."""
    files: dict[str, str]
    """SHA-256 by name of each file of its configuration."""


class _StoredTrust(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    folders: dict[str, TrustedFolder]
    """By absolute path, without links."""


def store_path(environment: Mapping[str, str], home: Path) -> Path:
    """Return `$XDG_STATE_HOME/turnetl/trust.json`, if absolute, or that in `~/.local/state`."""
    state = Path(environment.get("XDG_STATE_HOME", ""))
    base = state if state.is_absolute() else home / ".local" / "state"
    return base / "turnetl" / _NAME


class TrustStore:
    """The file; it is read at each call."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def folders(self) -> dict[Path, TrustedFolder]:
        """Return the trusted folders, sorted by path; others must not own or write the file."""
        return {Path(path): folder for path, folder in sorted(self._read().items())}

    def trust(self, folder: Path, record: TrustedFolder) -> None:
        """Trust a folder, in place of what was trusted of it before."""
        self._change(lambda folders: folders.update({str(folder): record}))

    def revoke(self, folder: Path) -> bool:
        """Trust a folder no longer; return whether it was trusted."""
        removed: list[TrustedFolder | None] = []
        self._change(lambda folders: removed.append(folders.pop(str(folder), None)))
        return removed != [None]

    def _change(self, change: Callable[[dict[str, TrustedFolder]], object]) -> None:
        try:
            private_files.create_folder(self.path.parent)
            with _locked(self.path.with_name(_LOCK_NAME)):
                folders = self._read()
                change(folders)
                content = msgspec.json.encode(_StoredTrust(_VERSION, folders))
                private_files.write_whole(self.path, msgspec.json.format(content, indent=2))
        except OSError as error:
            raise Fatal(
                f"the trust store `{self.path}` cannot be written: {error.filename or self.path}: "
                f"{error.strerror}; correct that, and run the command again"
            ) from error

    def _read(self) -> dict[str, TrustedFolder]:
        if not os.path.lexists(self.path):
            return {}
        try:
            content = read_regular(self.path, _MAX_BYTES)
            self._check_owner()
            stored = msgspec.json.decode(content, type=_StoredTrust)
        except NotReadable as error:
            raise self._unusable(str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._unusable("is not valid") from error
        if stored.version != _VERSION:
            raise self._unusable(f"has version {stored.version}, not {_VERSION}")
        return stored.folders

    def _check_owner(self) -> None:
        if sys.platform == "win32":
            return
        status = self.path.lstat()
        if status.st_uid != os.geteuid():
            raise self._unusable("belongs to another user")
        if S_IMODE(status.st_mode) & _WRITABLE_BY_OTHERS:
            raise self._unusable("may be written by other users")

    def _unusable(self, problem: str) -> Fatal:
        return Fatal(
            f"the trust store `{self.path}` {problem}, so that no folder is trusted: delete it, "
            "and run `turnetl trust` in each folder again"
        )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with private_files.open_or_create(path) as lock:
        # The system releases it when the file is closed, also if the process is killed.
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


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


_NAMES_SHOWN = 3


class TrustState(StrEnum):
    """Whether the configuration in a folder is used."""

    NO_FILES = "no_files"
    """There is nothing to trust."""
    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    """It was never trusted, or no longer is."""
    CHANGED = "changed"
    """It is not what was trusted."""


@dataclass(frozen=True, slots=True)
class FolderTrust:
    """The configuration in a folder, and what of it was trusted."""

    files: ProjectFiles
    trusted: Mapping[str, str] | None = None
    """Digest by name of what was trusted; None if the folder never was."""
    store_problem: str | None = None
    """Why nothing is trusted: the trust store cannot be used."""

    @property
    def state(self) -> TrustState:
        if self.trusted is None:
            return TrustState.UNTRUSTED if self.files.files else TrustState.NO_FILES
        is_same = not self.files.unusable and self.trusted == self.files.digests
        return TrustState.TRUSTED if is_same else TrustState.CHANGED

    @property
    def is_trusted(self) -> bool:
        return self.state == TrustState.TRUSTED

    @property
    def folder(self) -> Path:
        return self.files.folder

    @property
    def warning(self) -> str | None:
        """The sentence for a run that ignores the configuration; None if it does not."""
        if self.state in (TrustState.TRUSTED, TrustState.NO_FILES) or not self.files.files:
            return None
        if self.store_problem is not None:
            return f"ignored {self._files} of `{self.folder}`: {self.store_problem}"
        if self.state == TrustState.CHANGED:
            return (
                f"ignored {self._files} of `{self.folder}`: since `turnetl trust`, "
                f"{'; '.join(self.changes)}; read what changed, then run `turnetl trust` again"
            )
        return (
            f"ignored {self._files} of `{self.folder}`, which is not trusted: read what is in "
            f"there, then run `turnetl trust`"
        )

    @property
    def changes(self) -> Sequence[str]:
        """What differs from what was trusted, a phrase for each kind of change."""
        trusted, current = self.trusted or {}, self.files.digests
        problems = {file.name: file.problem for file in self.files.unusable}
        usable = [name for name in current if name not in problems]
        changed = [name for name in usable if trusted.get(name, current[name]) != current[name]]
        added = [name for name in usable if name not in trusted]
        removed = sorted(trusted.keys() - current.keys())
        kinds = (
            (changed, "changed", "changed"),
            (added, "is new", "are new"),
            (removed, "was removed", "were removed"),
        )
        return [
            *(_phrase(names, one, several) for names, one, several in kinds if names),
            *(f"`{displayed_name(name)}` {problem}" for name, problem in problems.items()),
        ]

    @property
    def _files(self) -> str:
        return _listed([file.name for file in self.files.files])


def _phrase(names: Sequence[str], one: str, several: str) -> str:
    return f"{_listed(names)} {one if len(names) == 1 else several}"


def _listed(names: Sequence[str]) -> str:
    first = ", ".join(f"`{displayed_name(name)}`" for name in names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return f"{first} and {more:,} more" if more > 0 else first


@dataclass(frozen=True, slots=True)
class TrustEntry:
    """A folder with a configuration."""

    trust: FolderTrust
    trusted_at: Annotated[
        Timestamp | None, described("When it was trusted; null if it is not.")
    ] = None
    settings: Annotated[
        tuple[SettingValue, ...],
        described("What its config file sets, if the command trusted it; else empty."),
    ] = ()

    @property
    def folder(self) -> Annotated[Path, described("Its absolute path, without links.")]:
        return self.trust.folder

    @property
    @described("Its configuration is used only if this is `trusted`.")
    def state(self) -> TrustState:
        return self.trust.state

    @property
    @described("What changed since then, a phrase for each kind.")
    def changes(self) -> Sequence[str]:
        return self.trust.changes if self.state == TrustState.CHANGED else ()

    @property
    def files(self) -> Annotated[Sequence[ProjectFile], described("Its files, sorted by name.")]:
        return self.trust.files.files


@dataclass(frozen=True, slots=True)
class TrustReport:
    """The folder that was trusted or revoked, or all that are trusted."""

    store: Annotated[Path, described("Path of the trust store.")]
    folders: Annotated[tuple[TrustEntry, ...], described("The folders, sorted by path.")]
