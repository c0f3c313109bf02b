"""The output of `git blame --porcelain`, and the edits of turns that a commit may contain."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from posixpath import join, normpath
from typing import Annotated

from turnetl.base.archived_edit import ArchivedEdit, NotRead
from turnetl.base.results import described
from turnetl.episode_text.conversation import Conversation, ConversationStep
from turnetl.retrieval.turn_summary import TurnSummary

_HEADER = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")
_PATCHED = re.compile(r"\*\*\* (?:Add|Update) File: (\S+)")
_SEPARATOR, _ADDED = " :: ", " + "
_MIN_LINE_CHARS = 8
"""Characters of a line that is not in many files by chance: `return None` is longer than `}`."""


@dataclass(frozen=True, slots=True)
class BlamedLine:
    number: int
    """In the file as it is, from 1."""
    text: str


@dataclass(frozen=True, slots=True)
class BlamedCommit:
    """A commit with the lines of a file that come from it."""

    commit: Annotated[str | None, described("The commit; null for changes not committed yet.")]
    authored_at: datetime
    """Of changes that are not committed yet, when git was asked."""
    summary: Annotated[str, described("First line of its message.")]
    """Empty for changes that are not committed yet."""
    path: str
    """Of the file in that commit, from the root of the repository."""
    previous: str | None
    """A commit before it; None if the file begins with it."""
    lines: tuple[BlamedLine, ...]

    @property
    def is_committed(self) -> bool:
        """Whether it is a commit; else the lines are changes that are not committed yet."""
        return self.commit is not None

    @property
    def committed_at(
        self,
    ) -> Annotated[datetime | None, described("Author time of the commit.", name="authored_at")]:
        return self.authored_at if self.is_committed else None

    @property
    def line_numbers(
        self,
    ) -> Annotated[
        list[int], described("Numbers of the file's lines that come from it.", name="lines")
    ]:
        return [line.number for line in self.lines]


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A change of the file by an agent."""

    turn: TurnSummary
    at: datetime
    added: frozenset[str] | NotRead
    """All lines that it added, as the archive has them, or why they could not be read."""
    excerpt: str = ""
    """Some of them, redacted, if they could not be read."""


@dataclass(slots=True)
class _Record:
    fields: dict[str, str] = field(default_factory=dict)
    lines: list[BlamedLine] = field(default_factory=list)


def parse_blame(output: str) -> list[BlamedCommit]:
    """Return the commits in the output of `git blame --porcelain`, by their first lines."""
    records: dict[str, _Record] = {}
    current, number = _Record(), 0
    # Not `splitlines`: a line of the file may contain other line ends.
    for line in output.split("\n"):
        if line.startswith("\t"):
            current.lines.append(BlamedLine(number, line[1:]))
        elif header := _HEADER.fullmatch(line):
            current = records.setdefault(header[1], _Record())
            number = int(header[2])
        else:
            name, _, value = line.partition(" ")
            current.fields.setdefault(name, value)
    return [_commit(commit, record) for commit, record in records.items() if record.lines]


def file_edits(
    turn: TurnSummary,
    conversation: Conversation,
    path: str,
    default_at: datetime | None,
    not_read: NotRead,
) -> list[FileEdit]:
    """Return excerpts of the successful edits of a file in a turn.

    Args:
        turn: the turn.
        conversation: its steps.
        path: of the file, from the root of the repository.
        default_at: time of an edit whose own time is unknown.
        not_read: why they could not be read from the archive.
    """
    return [
        FileEdit(turn, at, not_read, excerpt)
        for step in conversation.steps
        if not step.is_error and (at := step.ended_at or default_at) is not None
        for edited, excerpt in _changes(step)
        if _leads_to(edited, path, turn)
    ]


def read_edits(
    turn: TurnSummary, archived: Sequence[ArchivedEdit], path: str, default_at: datetime | None
) -> list[FileEdit]:
    """Return the edits of a file in a turn whose archive was read; arguments as `file_edits`."""
    return [
        FileEdit(turn, at, frozenset(map(_one_line, edit.added)))
        for edit in archived
        if (at := edit.at or default_at) is not None and _leads_to(edit.path, path, turn)
    ]


def edits_within(
    edits: Sequence[FileEdit], start: datetime | None, end: datetime
) -> list[FileEdit]:
    """Return the edits after `start`, if there is one, up to `end`, in the order of time."""
    within = [edit for edit in edits if (start is None or start < edit.at) and edit.at <= end]
    return sorted(within, key=lambda edit: (edit.at, edit.turn.receipt.turn_id))


def adds_line(edit: FileEdit, line: str, redacted: str) -> bool:
    """Return whether an edit is known to have added a line; spaces in it are compared as one.

    Args:
        edit: an edit of the file.
        line: a line of the file.
        redacted: the same without secrets: it is compared if only an excerpt is known.
    """
    if isinstance(edit.added, NotRead):
        return is_distinctive(line) and _one_line(redacted) in _one_line(edit.excerpt)
    return _one_line(line) in edit.added


def is_distinctive(line: str) -> bool:
    """Return whether a line is long enough to be known by its text."""
    return len(_one_line(line)) >= _MIN_LINE_CHARS


def _leads_to(edited: str, path: str, turn: TurnSummary) -> bool:
    return f"/{normpath(join(turn.receipt.cwd or '/', edited))}".endswith(f"/{path}")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _commit(commit: str, record: _Record) -> BlamedCommit:
    fields, is_committed = record.fields, bool(commit.strip("0"))
    return BlamedCommit(
        commit=commit if is_committed else None,
        authored_at=datetime.fromtimestamp(int(fields.get("author-time", "0")), UTC),
        summary=fields.get("summary", "") if is_committed else "",
        path=fields.get("filename", ""),
        previous=fields["previous"].partition(" ")[0] if "previous" in fields else None,
        lines=tuple(record.lines),
    )


def _changes(step: ConversationStep) -> Iterator[tuple[str, str]]:
    """Yield the path and the added lines of each file that a step changed."""
    path, separator, change = step.input.partition(_SEPARATOR)
    if separator:
        removed = change.startswith("- ")
        yield path.strip(), change.partition(_ADDED)[2] if removed else change.removeprefix("+ ")
        return
    _, *pieces = _PATCHED.split(step.input)
    yield from zip(pieces[::2], pieces[1::2], strict=True)
