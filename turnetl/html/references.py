"""What the macros of `macros.html` show: turns, facts and the archive lines they come from."""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PureWindowsPath
from urllib.parse import quote

from turnetl.base import projects


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Lines of an archive."""

    archive: str
    """Path or URL, redacted."""
    first_line: int
    """From 1."""
    last_line: int
    href: str | None
    """Opens the archive; None if a browser cannot."""

    @property
    def name(self) -> str:
        """The name of the archive without its folders, and the line: `session.jsonl:12`."""
        parts = self.archive.replace("\\", "/").rstrip("/").rpartition("/")
        return f"{parts[2]}:{self.first_line}"


@dataclass(frozen=True, slots=True)
class TurnReference:
    """A turn, and where it is."""

    turn_id: str
    """Its beginning is enough for `turnetl show`."""
    title: str
    """What the user wrote, on one line; empty if nothing."""
    started_at: datetime | None
    href: str
    """Leads to the turn: `#turn-…` on the same page, or the address of another page."""
    source: SourceLines


@dataclass(frozen=True, slots=True)
class FactReference:
    """A fact with its dates, and the turns that state it."""

    text: str
    relation: str
    valid_at: datetime | None
    invalid_at: datetime | None
    """None: it still holds."""
    turns: tuple[TurnReference, ...]
    """Oldest first."""
    further_turns: int = 0
    """Turns that state it, too, and are not among these."""
    ended_by: str = ""
    """Turn and text of what ended it."""
    later_turn_says: str = ""


_GROUP_NOTES = {
    projects.NO_PROJECT: "turns whose archives name no folder, such as exported chats",
    projects.HOME: "work in the home folder itself, outside of any project",
    projects.TEMPORARY: "work in temporary folders with random names",
}
_DIGEST = re.compile(r"[0-9a-f]{8,}")
_ROOTED = re.compile(r"[/~\\]|[A-Za-z]:[/\\]")


def group_note(group: str) -> str:
    """Return what the id of a group means that is no name of a project; empty if it is one."""
    if _DIGEST.fullmatch(group):
        return "a folder whose name is a digest, such as a worktree or a redacted path"
    if _DIGEST.fullmatch(group.rpartition("_")[2]):
        return "it ends in a digest, because the name is long or has letters of another script"
    return _GROUP_NOTES.get(group, "")


def shown_path(path: str) -> str:
    """Return a path as people read it: below the home folder of a user, it starts with `~`."""
    if not _ROOTED.match(path):
        return path
    return projects.home_relative(projects.path_folders(path)) or path


def source_lines(archive: str, first_line: int, last_line: int) -> SourceLines:
    """Return the lines of an archive with a link to it, if its path is absolute."""
    return SourceLines(archive, first_line, last_line, file_href(archive))


def file_href(path: str) -> str | None:
    """Return the `file:` URL of an absolute path, also of one of Windows; None for anything else.

    A URL of another scheme never results, whatever the archive says its path is.
    """
    # With `//host/`, or its backslashes, a path would name another machine.
    if path.startswith(("//", "\\\\")):
        return None
    if path.startswith("/"):
        return f"file://{quote(path, errors='replace')}"
    windows = PureWindowsPath(path)
    if windows.is_absolute():
        return f"file:///{quote(windows.as_posix(), safe='/:', errors='replace')}"
    return None
