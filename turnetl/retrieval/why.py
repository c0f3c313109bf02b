"""Which turns wrote the lines of a file: git's commits and times against the edits of turns.

A commit contains what was edited since the previous commit of the file. The archive of a turn has
all lines that its edits added; without it, an excerpt of them is compared. If no edit added the
line, or several added one that is in many files, the answer is that it is unknown.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from posixpath import join, normpath
from typing import TYPE_CHECKING, Annotated

from turnetl.base import ids
from turnetl.base.graph_model import Receipt
from turnetl.base.model import ArchivedEdit, Fact, NotRead, TurnEdits, TurnId
from turnetl.base.relations import EDITS
from turnetl.base.results import INLINED, described
from turnetl.episode_text.conversation import Conversation, ConversationStep, from_episode_text
from turnetl.retrieval.details import facts_by_turn, naming_turns
from turnetl.retrieval.items import FILE_LABEL
from turnetl.retrieval.turn_summary import TurnSummary, summarize_turn, titles

if TYPE_CHECKING:  # the index itself imports its libraries
    from turnetl.index.persistent import PersistentIndex

_HEADER = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")
_PATCHED = re.compile(r"\*\*\* (?:Add|Update) File: (\S+)")
_SEPARATOR, _ADDED = " :: ", " + "
_MIN_LINE_CHARS = 8
"""Characters of a line that is not in many files by chance: `return None` is longer than `}`."""


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of a file with its number."""

    number: int
    """In the file as it is, from 1."""
    text: str
    """The line without its end."""


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
    """The lines that come from it."""

    @property
    def is_committed(self) -> bool:
        """Whether it is a commit, and not what is not committed yet."""
        return self.commit is not None

    @property
    @described("Author time of the commit.", name="authored_at")
    def committed_at(self) -> datetime | None:
        return self.authored_at if self.is_committed else None

    @property
    @described("Numbers of the file's lines that come from it.", name="lines")
    def line_numbers(self) -> list[int]:
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
    steps: Iterable[ConversationStep],
    path: str,
    default_at: datetime | None,
    not_read: NotRead,
) -> list[FileEdit]:
    """Return excerpts of the successful edits of a file in steps of a turn.

    The path is from the root of the repository. An edit whose own time is unknown has the default
    one.
    """
    return [
        FileEdit(turn, at, not_read, excerpt)
        for step in steps
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

    The line without secrets is compared if only an excerpt of the edit is known.
    """
    if isinstance(edit.added, NotRead):
        return is_distinctive(line) and _one_line(redacted) in _one_line(edit.excerpt)
    return _one_line(line) in edit.added


def is_distinctive(line: str) -> bool:
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


@dataclass(frozen=True, slots=True)
class EditSources:
    archives: Callable[[Sequence[Receipt]], Mapping[TurnId, TurnEdits]]
    """Returns the edits of turns as their archives have them, and which cannot be read."""
    conversations: Callable[[Sequence[Receipt]], Mapping[TurnId, Conversation]]
    """Returns the conversations of those turns that the lake holds."""
    redact: Callable[[Sequence[str]], Sequence[str]]
    """Returns texts without secrets: the lake and the graph have only such texts."""


class Certainty(StrEnum):
    """How it is known which turns wrote the lines of a commit."""

    LINE = "line"
    """Edits of the turns added lines of the commit."""
    COMMIT = "commit"
    """The lines are in many files, and only this turn added them between the commits."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TurnNotRead:
    """A turn whose edits could not be read from its archive."""

    turn: Annotated[TurnSummary, INLINED]
    reason: Annotated[
        NotRead,
        described(
            "`missing`: the archive is not there; `unreadable`; `changed`: it no longer has the "
            "turn as it was read."
        ),
    ]


@dataclass(frozen=True, slots=True)
class Attribution:
    """A commit of the file, and the turns that wrote its lines."""

    commit: Annotated[BlamedCommit, INLINED]
    certainty: Annotated[
        Certainty,
        described(
            "`line`: edits of the turns added lines of the commit; `commit`: the lines are too "
            "short to be known by their text, and only this turn added them between this commit "
            "and the one before; `unknown`."
        ),
    ]
    turns: Annotated[
        tuple[TurnSummary, ...], described("The turns, oldest first; none if it is unknown.")
    ]
    facts: Annotated[tuple[Fact, ...], described("What these turns state about their changes.")]
    """Of the file."""
    candidates: Annotated[
        tuple[TurnSummary, ...],
        described("If it is unknown: the turns that edited the file between both commits."),
    ]
    not_read: Annotated[
        tuple[TurnNotRead, ...],
        described(
            "Turns that edited the file between both commits, of whose edits only an excerpt could "
            "be compared."
        ),
    ]


@dataclass(frozen=True, slots=True)
class _EditingTurn:
    summary: TurnSummary
    text: str
    facts: tuple[Fact, ...]
    """Those that say that it edited the file; none: its text names the file."""


def attribute(
    index: "PersistentIndex",
    commits: Sequence[tuple[BlamedCommit, datetime | None]],
    root: str,
    sources: EditSources,
    *,
    by_line: bool,
) -> list[Attribution]:
    """Return for each commit of a file which turns wrote its lines.

    Args:
        commits: each with the time of the commit of the file before it, if there is one.
        root: absolute path of the repository.
        by_line: whether only one line is asked for.
    """
    editing = {
        path: [
            turn
            for turn in _editing_turns(index, path, root)
            if any(_is_near(turn, *commit) for commit in commits if commit[0].path == path)
        ]
        for path in dict.fromkeys(commit.path for commit, _ in commits)
    }
    edits = _all_edits(editing, sources)
    return [
        _attribution(
            commit,
            edits_within(edits[commit.path], since, commit.authored_at),
            editing[commit.path],
            sources.redact,
            by_line=by_line,
        )
        for commit, since in commits
    ]


def _is_near(turn: _EditingTurn, commit: BlamedCommit, since: datetime | None) -> bool:
    receipt = turn.summary.receipt
    ended_before = since is not None and receipt.ended_at is not None and receipt.ended_at <= since
    return receipt.started_at <= commit.authored_at and not ended_before


def _all_edits(
    editing: Mapping[str, Sequence[_EditingTurn]], sources: EditSources
) -> dict[str, list[FileEdit]]:
    """Return the edits of each path, from the archives as far as these can be read."""
    turns = [turn.summary.receipt for of_path in editing.values() for turn in of_path]
    receipts = {receipt.turn_id: receipt for receipt in turns}
    archived = sources.archives(list(receipts.values()))
    not_read = [receipts[turn] for turn, edits in archived.items() if edits.not_read]
    texts = sources.conversations(not_read)
    return {
        path: [edit for turn in turns for edit in _edits(turn, path, archived, texts)]
        for path, turns in editing.items()
    }


def _edits(
    turn: _EditingTurn,
    path: str,
    archived: Mapping[TurnId, TurnEdits],
    texts: Mapping[TurnId, Conversation],
) -> list[FileEdit]:
    receipt = turn.summary.receipt
    times = [fact.valid_at for fact in turn.facts if fact.valid_at is not None]
    default_at = max(times, default=receipt.started_at)
    of_turn = archived[receipt.turn_id]
    edits = read_edits(turn.summary, of_turn.edits, path, default_at)
    if of_turn.not_read:
        conversation = texts.get(receipt.turn_id) or from_episode_text(turn.text)
        for step in conversation.steps:
            archive = None if step.subagent is None else step.subagent.archive
            if (reason := of_turn.not_read.get(archive)) is not None:
                edits += file_edits(turn.summary, [step], path, default_at, reason)
    return edits


def _attribution(
    commit: BlamedCommit,
    edits: Sequence[FileEdit],
    editing: Sequence[_EditingTurn],
    redact: Callable[[Sequence[str]], Sequence[str]],
    *,
    by_line: bool,
) -> Attribution:
    not_read = _not_read(edits)
    lines = [line.text for line in commit.lines]
    pairs = list(zip(lines, redact(lines) if not_read else lines, strict=True))
    known = [pair for pair in pairs if is_distinctive(pair[0])]
    adding = [edit for edit in edits if any(adds_line(edit, *pair) for pair in known)]
    possible = [edit for edit in edits if any(adds_line(edit, *pair) for pair in pairs)]
    if adding:
        # Of several edits that wrote the same line, the commit has the last one.
        certainty, turns = Certainty.LINE, _turns(adding[-1:] if by_line else adding)
    elif len(_turns(possible)) == 1 and not not_read:
        certainty, turns = Certainty.COMMIT, _turns(possible)
    else:
        return Attribution(commit, Certainty.UNKNOWN, (), (), _turns(edits), not_read)
    facts = (fact for one in editing if one.summary in turns for fact in one.facts)
    return Attribution(commit, certainty, turns, tuple(facts), (), not_read)


def _not_read(edits: Sequence[FileEdit]) -> tuple[TurnNotRead, ...]:
    found = {
        edit.turn.receipt.turn_id: TurnNotRead(edit.turn, edit.added)
        for edit in edits
        if isinstance(edit.added, NotRead)
    }
    return tuple(found.values())


def _turns(edits: Sequence[FileEdit]) -> tuple[TurnSummary, ...]:
    return tuple({edit.turn.receipt.turn_id: edit.turn for edit in edits}.values())


def _editing_turns(index: "PersistentIndex", path: str, root: str) -> list[_EditingTurn]:
    lookup = index.lookup()
    parts = path.split("/")
    names = {"/".join(parts[start:]) for start in range(len(parts))}
    files = {file.uuid: file for file in lookup.files_ending_with(path)}
    for name in names:
        named = lookup.entities_named(name)
        files |= {file.uuid: file for file in named if FILE_LABEL in file.labels}
    stated = [one for uuid in sorted(files) for one in lookup.facts_about(uuid)]
    facts = facts_by_turn(one for one in stated if one.indexed.fact.relation in EDITS)
    # An edit of which the archive's excerpt says nothing has no fact.
    named_in = {key for file in files.values() for key in naming_turns(index, file)}
    turns = index.turns(lookup.by_time(facts.keys() | named_in))
    all_facts, title_of = index.facts(list(turns)), titles(index, turns.values())
    return [
        _EditingTurn(
            summarize_turn(turn, all_facts[key], title_of[key]),
            turn.text,
            tuple(facts.get(key, ())),
        )
        for key, turn in turns.items()
        if _is_in_repository(turn.receipt, root)
    ]


def _is_in_repository(receipt: Receipt, root: str) -> bool:
    """Return whether a turn worked in the repository, here or in another checkout of it."""
    name = root.rstrip("/").rpartition("/")[2]
    if not receipt.cwd:
        group = ids.group_id(name)
        return receipt.group_id == group or receipt.group_id.endswith(f"_{group}")
    return name in receipt.cwd.replace("\\", "/").split("/")
