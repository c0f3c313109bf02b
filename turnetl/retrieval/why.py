"""Which turns wrote the lines of a file: git's commits and times against the edits of turns.

A commit contains what was edited since the previous commit of the file. An edit is abbreviated: it
shows a line, may have added it, or cannot have. If none shows the line and it is not certain which
turn may have added it, the answer is that it is unknown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from turnetl import ids
from turnetl.graph_model import Receipt
from turnetl.index.lookup import LookupIndex, StatedFact
from turnetl.model import Fact, TurnId
from turnetl.retrieval.blame import (
    BlamedCommit,
    FileEdit,
    edits_within,
    file_edits,
    may_add_line,
    shows_line,
)
from turnetl.retrieval.conversation import Conversation, from_episode_text
from turnetl.retrieval.items import FILE_LABEL
from turnetl.retrieval.turn_summary import TurnSummary, summarize_turn

_EDITED = frozenset({"CREATED", "MODIFIED"})

Conversations = Callable[[Sequence[Receipt]], Mapping[TurnId, Conversation]]
"""Returns the conversations of those turns that the lake holds."""


class Certainty(StrEnum):
    """How it is known which turns wrote the lines of a commit."""

    LINE = "line"
    """Edits of the turns show lines of the commit."""
    COMMIT = "commit"
    """Only this turn can have written them between this commit and the one before."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Attribution:
    """A commit of a file, and the turns that wrote its lines."""

    commit: BlamedCommit
    certainty: Certainty
    turns: tuple[TurnSummary, ...]
    """In the order of time; none if it is unknown."""
    facts: tuple[Fact, ...]
    """What these turns state about their changes of the file."""
    candidates: tuple[TurnSummary, ...]
    """If it is unknown: the turns that edited the file before the commit and after the previous."""


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
    conversations: Conversations,
    *,
    by_line: bool,
) -> list[Attribution]:
    """Return for each commit of a file which turns wrote its lines.

    Args:
        index: of the graph.
        commits: each with the time of the commit of the file before it, if there is one.
        root: absolute path of the repository.
        conversations: returns the texts of turns.
        by_line: whether only one line is asked for.
    """
    editing: dict[str, list[_EditingTurn]] = {}
    for commit, _ in commits:
        if commit.path not in editing:
            editing[commit.path] = _editing_turns(index, commit.path, root)
    receipts = {
        turn.summary.receipt.turn_id: turn.summary.receipt
        for turns in editing.values()
        for turn in turns
    }
    texts = conversations(list(receipts.values()))
    edits = {
        path: [edit for turn in turns for edit in _edits(turn, path, texts)]
        for path, turns in editing.items()
    }
    return [
        _attribution(
            commit,
            edits_within(edits[commit.path], since, commit.authored_at),
            editing[commit.path],
            by_line=by_line,
        )
        for commit, since in commits
    ]


def _attribution(
    commit: BlamedCommit,
    edits: Sequence[FileEdit],
    editing: Sequence[_EditingTurn],
    *,
    by_line: bool,
) -> Attribution:
    lines = [line.text for line in commit.lines]
    shown = [edit for edit in edits if any(shows_line(edit, line) for line in lines)]
    possible = [edit for edit in edits if any(may_add_line(edit, line) for line in lines)]
    if shown:
        # Of several edits that wrote the same line, the commit has the last one.
        certainty, turns = Certainty.LINE, _turns(shown[-1:] if by_line else shown)
    elif len(_turns(possible)) == 1:
        certainty, turns = Certainty.COMMIT, _turns(possible)
    else:
        return Attribution(commit, Certainty.UNKNOWN, (), (), _turns(edits))
    facts = (fact for one in editing if one.summary in turns for fact in one.facts)
    return Attribution(commit, certainty, turns, tuple(facts), ())


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


def _edits(turn: _EditingTurn, path: str, texts: Mapping[TurnId, Conversation]) -> list[FileEdit]:
    receipt = turn.summary.receipt
    conversation = texts.get(receipt.turn_id) or from_episode_text(turn.text)
    times = [fact.valid_at for fact in turn.facts if fact.valid_at is not None]
    return file_edits(turn.summary, conversation, path, max(times, default=receipt.started_at))


def _is_in_repository(receipt: Receipt, root: str) -> bool:
    """Return whether a turn worked in the repository, here or in another checkout of it."""
    name = root.rstrip("/").rpartition("/")[2]
    if not receipt.cwd:
        group = ids.group_id(name)
        return receipt.group_id == group or receipt.group_id.endswith(f"_{group}")
    return name in receipt.cwd.replace("\\", "/").split("/")
