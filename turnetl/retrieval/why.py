"""Which turns wrote the lines of a file: git's commits and times against the edits of turns.

A commit contains what was edited since the previous commit of the file. The archive of a turn has
all lines that its edits added; without it, an excerpt of them is compared. If no edit added the
line, or several added one that is in many files, the answer is that it is unknown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from turnetl.base import ids
from turnetl.base.archived_edit import ArchivedEdit, NotRead
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Fact, TurnId
from turnetl.base.results import INLINED, described
from turnetl.episode_text.conversation import Conversation, from_episode_text
from turnetl.index.lookup import LookupIndex, StatedFact
from turnetl.retrieval.blame import (
    BlamedCommit,
    FileEdit,
    adds_line,
    edits_within,
    file_edits,
    is_distinctive,
    read_edits,
)
from turnetl.retrieval.items import FILE_LABEL
from turnetl.retrieval.turn_summary import TurnSummary, summarize_turn

_EDITED = frozenset({"CREATED", "MODIFIED"})


@dataclass(frozen=True, slots=True)
class EditSources:
    """Where the texts of edits come from."""

    archives: Callable[[Sequence[Receipt]], Mapping[TurnId, Sequence[ArchivedEdit] | NotRead]]
    """Returns the edits of turns as their archives have them, or why they cannot be read."""
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
    """The episode text."""
    facts: tuple[Fact, ...]
    """Those that say that it edited the file, at least one."""


def attribute(
    index: LookupIndex,
    commits: Sequence[tuple[BlamedCommit, datetime | None]],
    root: str,
    sources: EditSources,
    *,
    by_line: bool,
) -> list[Attribution]:
    """Return for each commit of a file which turns wrote its lines.

    Args:
        index: of the graph.
        commits: each with the time of the commit of the file before it, if there is one.
        root: absolute path of the repository.
        sources: of the texts of edits.
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
    """Return whether a turn was at work between a commit and the one before it."""
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
    not_read = {turn: reason for turn, reason in archived.items() if isinstance(reason, NotRead)}
    texts = sources.conversations([receipts[turn] for turn in not_read])
    return {
        path: [edit for turn in turns for edit in _edits(turn, path, archived, texts)]
        for path, turns in editing.items()
    }


def _edits(
    turn: _EditingTurn,
    path: str,
    archived: Mapping[TurnId, Sequence[ArchivedEdit] | NotRead],
    texts: Mapping[TurnId, Conversation],
) -> list[FileEdit]:
    receipt = turn.summary.receipt
    times = [fact.valid_at for fact in turn.facts if fact.valid_at is not None]
    default_at = max(times, default=receipt.started_at)
    of_turn = archived[receipt.turn_id]
    if isinstance(of_turn, NotRead):
        conversation = texts.get(receipt.turn_id) or from_episode_text(turn.text)
        return file_edits(turn.summary, conversation, path, default_at, of_turn)
    return read_edits(turn.summary, of_turn, path, default_at)


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
    """Return the turns of the edits, each once, in their order."""
    return tuple({edit.turn.receipt.turn_id: edit.turn for edit in edits}.values())


def _editing_turns(index: LookupIndex, path: str, root: str) -> list[_EditingTurn]:
    """Return the turns in this repository that edited a file of this name."""
    lookup = index.lookup()
    parts = path.split("/")
    names = {"/".join(parts[start:]) for start in range(len(parts))}
    files = {file.uuid: file for file in lookup.files_ending_with(path)}
    for name in names:
        named = lookup.entities_named(name)
        files |= {file.uuid: file for file in named if FILE_LABEL in file.labels}
    stated = [one for uuid in sorted(files) for one in lookup.facts_about(uuid)]
    facts = _edits_by_turn(stated)
    turns = index.turns(list(facts))
    all_facts = index.facts(list(turns))
    return [
        _EditingTurn(summarize_turn(turn, all_facts[key]), turn.text, tuple(facts[key]))
        for key, turn in turns.items()
        if _is_in_repository(turn.receipt, root)
    ]


def _edits_by_turn(stated: Sequence[StatedFact]) -> dict[int, list[Fact]]:
    facts: dict[int, list[Fact]] = {}
    for one in stated:
        if one.indexed.fact.relation in _EDITED:
            for key in one.turns:
                facts.setdefault(key, []).append(one.indexed.fact)
    return facts


def _is_in_repository(receipt: Receipt, root: str) -> bool:
    """Return whether a turn worked in the repository, here or in another checkout of it."""
    name = root.rstrip("/").rpartition("/")[2]
    if not receipt.cwd:
        group = ids.group_id(name)
        return receipt.group_id == group or receipt.group_id.endswith(f"_{group}")
    return name in receipt.cwd.replace("\\", "/").split("/")
