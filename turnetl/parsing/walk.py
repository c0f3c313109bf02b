# ruff: noqa: PTH116, PTH118 - thousands of names, and no Path is needed
"""Recursive folder search for archives: it follows links and searches every real folder once."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from turnetl.base.skip_reasons import SkipReason
from turnetl.parsing.other_files import may_be_archive, starts_as_json, unread_kind

_SUFFIXES = tuple(
    suffix + compression for suffix in (".jsonl", ".json") for compression in ("", ".gz", ".zst")
)
"""Suffixes of archives in a folder."""

_HEAD = 64
"""Bytes that are read of a file without a suffix."""

OnProblem = Callable[[str, SkipReason, str], None]
"""Receives a path, the reason why it is skipped, and the end of a sentence about it, which is empty
if the path is only counted."""


def has_archive_suffix(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with the suffix of an archive, or one that the user named."""

    path: str
    real_path: str
    """The same for every link that leads to the file."""


def walk_files(folder: str, on_problem: OnProblem) -> Iterator[FoundFile]:
    """Yield the files in a folder and below it; files that only links lead to come last.

    Args:
        folder: the folder to search.
        on_problem: called for a path that cannot be searched, is not a file, or is no archive.
    """
    walk = _FolderWalk(on_problem)
    yield from walk.files([(folder, os.path.realpath(folder))])


@dataclass(slots=True)
class _FolderWalk:
    on_problem: OnProblem
    searched: set[tuple[int, int]] = field(default_factory=set)
    linked_folders: list[str] = field(default_factory=list)
    linked_files: list[str] = field(default_factory=list)

    def files(self, folders: list[tuple[str, str]]) -> Iterator[FoundFile]:
        """Search folders, each given with its real path."""
        # A link's target may also be in a searched folder; its own path then takes precedence.
        while folders or self.linked_folders:
            folder, real = folders.pop() if folders else _resolved(self.linked_folders.pop(0))
            for entry in self._entries(folder):
                if not _is(entry.is_dir):
                    yield from self._entry(entry, real)
                elif entry.is_symlink():
                    self.linked_folders.append(entry.path)
                else:
                    folders.append((entry.path, os.path.join(real, entry.name)))
        yield from (FoundFile(*_resolved(path)) for path in self.linked_files)

    def _entry(self, entry: os.DirEntry[str], real_folder: str) -> Iterator[FoundFile]:
        """Yield a file that is an archive by its name, or by its start if it has no suffix."""
        if has_archive_suffix(entry.name):
            yield from self._file(entry, real_folder)
        elif not _is(entry.is_file):
            return
        elif may_be_archive(entry.name) and starts_as_json(_head(entry.path)):
            yield from self._file(entry, real_folder)
        else:
            self.on_problem(entry.path, *unread_kind(entry.path))

    def _file(self, entry: os.DirEntry[str], real_folder: str) -> Iterator[FoundFile]:
        if not _is(entry.is_file):
            is_broken = entry.is_symlink() and not os.path.exists(entry.path)  # noqa: PTH110 - as above
            what = "is a broken link" if is_broken else "is neither a file nor a folder"
            self.on_problem(entry.path, SkipReason.OTHER_ENTRY, f"{what}; it was skipped")
        elif entry.is_symlink():
            self.linked_files.append(entry.path)
        else:
            yield FoundFile(entry.path, os.path.join(real_folder, entry.name))

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """Return the entries of a folder by name; none if it was searched before."""
        try:
            status = os.stat(folder)
            if (identity := (status.st_dev, status.st_ino)) in self.searched:
                return []
            self.searched.add(identity)
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            what = f"cannot be read ({error.strerror}); check its permissions"
            self.on_problem(folder, SkipReason.UNREADABLE, what)
            return []


def _is(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except OSError:  # a link that leads to itself
        return False


def _head(path: str) -> bytes:
    """Return the start of a file; nothing if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return file.read(_HEAD)
    except OSError:
        return b""


def _resolved(link: str) -> tuple[str, str]:
    return link, os.path.realpath(link)
