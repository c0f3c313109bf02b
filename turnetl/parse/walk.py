# ruff: noqa: PTH116, PTH118 - thousands of names, and no Path is needed
"""Folders searched for archives: links are followed, and every real folder is searched once."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_ENDINGS = tuple(
    ending + packed for ending in (".jsonl", ".json") for packed in ("", ".gz", ".zst")
)
"""What an archive in a folder is called."""


def is_called_archive(name: str) -> bool:
    return name.lower().endswith(_ENDINGS)


@dataclass(frozen=True, slots=True)
class Found:
    """A file that is called like an archive."""

    path: str
    real: str
    """The same however many links lead to it."""


def files(folder: str, note: Callable[[str, str, str], None]) -> Iterator[Found]:
    """Yield the files in and below a folder, those that only links lead to last.

    Args:
        folder: where to begin.
        note: told a path that cannot be searched or is no file, in a word and in a sentence.
    """
    search = _Search(note)
    yield from search.through([(folder, os.path.realpath(folder))])


@dataclass(slots=True)
class _Search:
    note: Callable[[str, str, str], None]
    searched: set[tuple[int, int]] = field(default_factory=set)
    linked_folders: list[str] = field(default_factory=list)
    linked_files: list[str] = field(default_factory=list)

    def through(self, left: list[tuple[str, str]]) -> Iterator[Found]:
        """Search folders, each given as it is called and as it really is."""
        # What a link leads to may lie here as itself as well, and is to be known by that name.
        while left or self.linked_folders:
            at, real = left.pop() if left else _followed(self.linked_folders.pop(0))
            for entry in self._entries(at):
                if not _is(entry.is_dir):
                    if is_called_archive(entry.name):
                        yield from self._file(entry, real)
                elif entry.is_symlink():
                    self.linked_folders.append(entry.path)
                else:
                    left.append((entry.path, os.path.join(real, entry.name)))
        yield from (Found(*_followed(path)) for path in self.linked_files)

    def _file(self, entry: os.DirEntry[str], folder: str) -> Iterator[Found]:
        if not _is(entry.is_file):
            what = "leads nowhere" if entry.is_symlink() else "is neither a file nor a folder"
            self.note(entry.path, "no_file", f"{what}; it was passed over")
        elif entry.is_symlink():
            self.linked_files.append(entry.path)
        else:
            yield Found(entry.path, os.path.join(folder, entry.name))

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """Return what lies in a folder, by name; nothing if it was searched already."""
        try:
            status = os.stat(folder)
            if (place := (status.st_dev, status.st_ino)) in self.searched:
                return []
            self.searched.add(place)
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            what = f"cannot be read ({error.strerror}); check its permissions"
            self.note(folder, "unreadable", what)
            return []


def _is(kind: Callable[[], bool]) -> bool:
    try:
        return kind()
    except OSError:  # a link that leads to itself
        return False


def _followed(link: str) -> tuple[str, str]:
    return link, os.path.realpath(link)
