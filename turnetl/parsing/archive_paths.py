"""The paths of archives: the names that tables have of them, and the files that these lead to.

A name is the absolute path without secrets. The path itself is stored nowhere: a file is found by
looking for one whose name gives the same placeholders.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from turnetl.base.errors import BadArchive
from turnetl.base.object_url import path_text
from turnetl.base.reason import SkipReason
from turnetl.lake import is_object
from turnetl.lake.paths import file_holding
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles
from turnetl.redact.port import MARK, pieces

StandsFor = Callable[[str, str], bool]
"""Returns whether a digest in a placeholder is that of a text: `SecretRedactor.stands_for`."""

_PART = re.compile(r"([/\\]|\.jsonl?(?:\.gz|\.zstd?)?\Z)")


_MACHINE = re.compile(r"([a-z0-9._-]+):(?=/(?!/)|[A-Za-z]:[/\\]|[a-z0-9]+://)")
"""What an import puts before the path of an archive."""


def is_redacted(name: str) -> bool:
    """Return whether a name lacks parts of the path."""
    return MARK in name


def shown_path(path: Path, name: str) -> str:
    """Return a path as the user gave it, or the archive's name if the path holds a secret."""
    return name if is_redacted(name) else path_text(path)


def find_archive(name: str, stands_for: StandsFor, files: ArchiveFiles = LOCAL) -> Path:
    """Return the path of an archive with this name in a table or a receipt.

    Raises:
        BadArchive: the name lacks parts of the path, and no file has such a path.
    """
    if not is_redacted(name):
        return Path(name)
    path = next(_paths(Path(name).parts, stands_for, files), None)
    if path is None:
        raise BadArchive(
            SkipReason.MISSING,
            f"`{name}` cannot be found: parts of its path are redacted, and no file has such a "
            "path; if it was moved or renamed, move it back",
        )
    return path


def path_texts(path: str) -> list[str]:
    """Return the texts to redact for a path: without its suffix, and its parts.

    A value that a folder's name announces ends with that name, and not with the path; and
    `session@2.json` is no address.
    """
    parts = _parts(path)
    return ["".join(parts[:-2]) if _has_suffix(parts) else path, *parts]


def redacted_path(path: str, redacted: Mapping[str, str]) -> str:
    """Return a path without secrets, given what replaces each of its `path_texts`."""
    parts = _parts(path)
    joined = "".join(redacted[part] for part in parts)
    if joined != path:
        return joined
    whole, *_ = path_texts(path)
    return redacted[whole] + path[len(whole) :]


def _parts(path: str) -> list[str]:
    """Return names, separators and the suffix of a path; joined they are the path."""
    return _PART.split(path)


def _has_suffix(parts: Sequence[str]) -> bool:
    """Return whether parts end with a suffix, which an empty one follows."""
    return not parts[-1] and parts[-2:-1] != [] and parts[-2].startswith(".")


def _paths(parts: Sequence[str], stands_for: StandsFor, files: ArchiveFiles) -> Iterator[Path]:
    folders = [Path()]
    for part in parts:
        if is_redacted(part):
            folders = [
                folder / name
                for folder in folders
                for name in _names(folder, files)
                if _gives(part, name, stands_for)
            ]
        else:
            folders = [folder / part for folder in folders]
    yield from (path for path in folders if files.is_file(file_holding(path)))


def _gives(redacted: str, text: str, stands_for: StandsFor) -> bool:
    """Return whether a text without its secrets is the redacted one."""
    literals, digests = pieces(redacted)
    match = re.fullmatch("(.+)".join(map(re.escape, literals)), text, re.DOTALL)
    return match is not None and all(map(stands_for, digests, match.groups()))


def _names(folder: Path, files: ArchiveFiles) -> list[str]:
    """Return the names in a folder; the user's own ones if it may not be listed, as `/home`."""
    if is_object(folder):
        return [path.name for path in files.entries(folder)]
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names
    except OSError:
        return sorted({*Path.home().parts, *Path.cwd().parts} - {os.sep})


def local_path(path: str) -> str:
    """Return the path of an archive on its machine."""
    found = _MACHINE.match(path)
    return path[found.end() :] if found else path


def archive_machine(path: str) -> str | None:
    """Return the machine of an imported archive; None: it is of this machine."""
    found = _MACHINE.match(path)
    return found[1] if found else None
