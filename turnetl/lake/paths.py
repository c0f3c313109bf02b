"""The paths of archives, as text and as digests, and the names in the folders of a lake."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from turnetl.base import ids
from turnetl.base.object_url import path_text, storable_text, url_text

TURNS = "turns"
"""Name of the folder of turns files, which has a folder for each group."""
QUARANTINE = "quarantine"
"""Name of the folder of quarantined turns, which has a folder for each group."""
REDACTION_KEY = "redaction.key"
FORGOTTEN_TURNS = "forgotten.json"
"""Names of files in a lake."""
_PROJECT = re.compile("project-[0-9a-f]{8}")


def archive_digest(archive: Path) -> str:
    """Return the name of an archive's turns file: the same for every path to the archive."""
    return archive_digests([archive])[0]


def archive_digests(archives: Iterable[Path]) -> list[str]:
    """Return `archive_digest` of many archives. The links of each folder are resolved once."""
    folders: dict[str, str] = {}
    return [ids.digest(storable_text(_resolved(path, folders))) for path in archives]


def _resolved(path: Path, folders: dict[str, str]) -> str:
    """Return the real path; `folders` caches the real paths of folders.

    Texts and not paths, whose making would cost most of what is done for an unchanged archive.
    """
    text = str(path)
    if url_text(text) is not None:
        return text
    folder, name = os.path.split(text)
    # Not `resolve`, which raises for a link that leads to itself.
    if name in ("", "..") or os.path.islink(text):  # noqa: PTH114 - as above
        return os.path.realpath(text)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)  # noqa: PTH118 - as above


def is_object(path: Path) -> bool:
    """Return whether a path of an archive leads to an object in an object store."""
    return url_text(str(path)) is not None


def file_holding(path: Path) -> Path:
    """Return the file that holds an archive, which may be a project or a session in it."""
    return path.parent if is_in_history(path) or is_in_database(path) else path


def is_in_history(path: Path) -> bool:
    """Return whether an archive is a project of a history of prompts."""
    return bool(_PROJECT.fullmatch(path.name)) and may_be_history(path.parent.name)


def is_in_database(path: Path) -> bool:
    """Return whether an archive is a session in a database: no such name has a suffix."""
    is_inside = "." not in path.name and may_be_database(path.parent.name)
    return is_inside and not is_object(path)


def may_be_database(name: str) -> bool:
    """Return whether a file with this name may be a database of an agent."""
    return name.lower().endswith((".db", ".sqlite", ".sqlite3", ".vscdb"))


def may_be_history(name: str) -> bool:
    """Return whether a file with this name may be a history of prompts."""
    return "history" in name.lower() and ".jsonl" in name.lower()


def absolute_path_text(path: Path) -> str:
    """Return an absolute path as text: it leads to the file from every working directory."""
    if is_object(path):
        return path_text(path)
    return path_text(Path(os.path.abspath(path)))  # noqa: PTH100 - removes `..`, follows no link


def entry_names(folder: Path) -> list[str]:
    """Return the sorted names in a folder, without pipes and devices, where opening may block."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if _may_be_opened(entry))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _may_be_opened(entry: "os.DirEntry[str]") -> bool:
    try:
        # A link that leads nowhere is reported where it is opened.
        return entry.is_file() or entry.is_dir() or not Path(entry.path).exists()
    except OSError:  # a link that leads to itself
        return True


def is_table(name: str) -> bool:
    """Return whether a file is a table: temporary files start with a dot."""
    return name.endswith(".parquet") and not name.startswith(".")
