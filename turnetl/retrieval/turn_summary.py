"""A turn in a few lines, and the turns that meet conditions in the order of time."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from turnetl.base.graph_model import Receipt
from turnetl.base.model import ID_CHARS
from turnetl.base.relations import EDITS
from turnetl.base.result_fields import (
    ChangedFilesField,
    IntentField,
    OutcomeField,
    PromptField,
    ShortTurnIdField,
)
from turnetl.base.results import INLINED, described
from turnetl.base.text import one_line
from turnetl.episode_text.conversation import from_episode_text
from turnetl.episode_text.intents import intent
from turnetl.episode_text.outcomes import outcome
from turnetl.episode_text.passages import prompt_title
from turnetl.index.conditions import Selection
from turnetl.index.port import IndexedFact, IndexedTurn

if TYPE_CHECKING:  # the index itself imports its libraries
    from turnetl.index.persistent import PersistentIndex

_NAME_CHARS = 40
_HEX = re.compile(r"[0-9a-fA-F]{8}")


@dataclass(frozen=True, slots=True)
class TurnTitle:
    """What a turn was about. Derived from the texts of the index at each use, never stored."""

    intent: str
    """Empty if the user wrote nothing."""
    outcome: str


def titles(index: "PersistentIndex", turns: Iterable[IndexedTurn]) -> Mapping[int, TurnTitle]:
    """Return the titles of turns by their keys; each is read with the turn before it."""
    known = {turn.key: turn for turn in turns}
    others = {turn.previous for turn in known.values() if turn.previous is not None} - known.keys()
    found = known | dict(index.turns(sorted(others)))
    read = {key: from_episode_text(turn.text) for key, turn in found.items()}
    return {
        key: TurnTitle(
            intent(read[key], None if turn.previous is None else read.get(turn.previous)),
            outcome(read[key]),
        )
        for key, turn in known.items()
    }


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """A turn in a few lines."""

    id: ShortTurnIdField
    prompt: PromptField
    """With the next line if the first ends with a colon; empty if the user wrote nothing."""
    intent: IntentField
    outcome: OutcomeField
    files: ChangedFilesField
    receipt: Annotated[Receipt, INLINED]


def summarize(index: "PersistentIndex", keys: Sequence[int]) -> list[TurnSummary]:
    """Return the turns with these keys in the order given; an unknown key is left out."""
    turns, facts = index.turns(keys), index.facts(keys)
    named = titles(index, turns.values())
    return [
        summarize_turn(turns[key], facts.get(key, ()), named[key]) for key in keys if key in turns
    ]


def summarize_turn(
    turn: IndexedTurn, facts: Sequence[IndexedFact], title: TurnTitle
) -> TurnSummary:
    return TurnSummary(
        id=turn.receipt.turn_id[:ID_CHARS],
        prompt=one_line(prompt_title(turn.text)),
        intent=title.intent,
        outcome=title.outcome,
        files=changed_files(facts),
        receipt=turn.receipt,
    )


def changed_files(facts: Sequence[IndexedFact]) -> tuple[str, ...]:
    """Return the files that the facts say were changed, each once, in their order."""
    names = [
        end.name
        for indexed in facts
        if indexed.fact.relation in EDITS
        for end in (indexed.source, indexed.target)
        if "File" in end.labels
    ]
    return tuple(dict.fromkeys(names))


def short_id(id_: str) -> str:
    """Return the beginning of an id; of one with words, which share their beginning, more of it."""
    return id_[:ID_CHARS] if _HEX.match(id_) else one_line(id_, _NAME_CHARS)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The last turns that meet the conditions."""

    turns: Annotated[tuple[TurnSummary, ...], described("The turns, oldest first.")]
    count: Annotated[int, described("How many turns meet the conditions.")]


def timeline(
    index: "PersistentIndex", selection: Selection, *, limit: int, skip: int = 0
) -> Timeline:
    """Return the last turns that meet the conditions, before `skip` newer ones."""
    count = len(index.select(selection))
    last = index.newest(selection, limit=limit, skip=skip)[::-1]
    return Timeline(tuple(summarize(index, last)), count)
