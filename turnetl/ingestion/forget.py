"""What is removed for good: its report, and where a text of it occurs, in all its spellings."""

import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated

from turnetl.base.batched import grouped
from turnetl.base.graph_model import CommitRecord, GroupContents
from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.base.result_fields import GroupField, TurnIdField
from turnetl.base.results import described
from turnetl.ingestion.undo_report import UndoReport
from turnetl.lake.byte_search import FoundText
from turnetl.summaries.records import decode


@dataclass(frozen=True, slots=True)
class ForgetSelection:
    """The turns to forget: those that meet all conditions that are given."""

    session: str | None = None
    """The beginning of the id of their session."""
    groups: tuple[str, ...] = ()
    """Group ids or project names."""
    text: str | None = None
    """A text that they hold, as it is."""

    @property
    def is_empty(self) -> bool:
        return self == ForgetSelection()


@dataclass(frozen=True, slots=True)
class TurnToForget:
    """A turn, with its place in its archive, which still holds it."""

    group: GroupField
    turn_id: TurnIdField
    session_id: Annotated[SessionId, described("Id of the session.")]
    archive: Annotated[str, described("Absolute path of the archive, which is never changed.")]
    first_line: Annotated[int, described("First line of the turn in it, from 1.")]
    last_line: Annotated[int, described("Last line of the turn in it.")]


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What `forget` removes. Nothing was written unless `is_begun`."""

    selection: ForgetSelection
    turns: Annotated[
        tuple[TurnToForget, ...], described("The turns to forget, by archive and line.")
    ]
    undo: Annotated[UndoReport, described("What leaves the graph.", name="graph")]
    """The turns to forget, and later ones that built on them."""
    samples: Annotated[
        tuple[str, ...],
        described(
            "Texts of the turns that no other turn holds, searched for afterwards.", counted=True
        ),
    ] = field(default=(), repr=False)
    keys_of_runs: frozenset[str] = field(default=frozenset(), repr=False)
    """What says of runs of subagents, when they are read later, that these turns started them."""
    damaged_tables: Annotated[
        tuple[Path, ...],
        described("Damaged turns files that were kept, which may hold the turns: deleted too."),
    ] = ()
    is_resumed: Annotated[
        bool,
        described(
            "Whether turns of a removal that was interrupted are among them.", name="resumed"
        ),
    ] = False
    is_begun: Annotated[bool, described("Whether anything was written.", name="begun")] = False
    responses_erased: Annotated[int, described("Responses removed from the journal.")] = 0
    quarantined: Annotated[int, described("Quarantine entries that were removed.")] = 0
    found: Annotated[tuple[FoundText, ...], described("Places that still hold it.")] = ()
    files_searched: Annotated[int, described("Files that were searched afterwards.")] = 0
    is_proven: Annotated[
        bool,
        described(
            "Whether everything was removed and searched, and nothing was found.", name="proven"
        ),
    ] = False
    summarised: Annotated[
        tuple[GroupId, ...],
        described(
            "Groups whose session-level data, which stays, is of these sessions too: that of "
            "migrations that are not finished.",
            name="summarised_in",
        ),
    ] = ()
    graph_server: Annotated[
        str | None,
        described("Address of a graph on a server, whose files are not searched; else null."),
    ] = None

    @property
    @described("Whether nothing may be removed because later turns built on them.", name="refused")
    def is_refused(self) -> bool:
        return self.undo.is_refused

    @property
    def sessions(self) -> Annotated[int, described("Number of their sessions.")]:
        return len({turn.session_id for turn in self.turns})

    @property
    def lines_by_archive(self) -> Mapping[str, Sequence[TurnToForget]]:
        """Return the turns by the path of their archive, with their lines."""
        return grouped((turn.archive, turn) for turn in self.turns)

    @property
    def errors(self) -> tuple[str, ...]:
        """Return a sentence for each group that could not be changed."""
        return tuple(
            f"group `{group.group}`: {group.error}" for group in self.undo.groups if group.error
        )


def spellings(text: str) -> tuple[str, ...]:
    """Return the text as tables, models and JSON may hold it, sorted."""
    forms = {text, *(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))}
    escaped = {
        json.dumps(form, ensure_ascii=ensure_ascii)[1:-1]
        for form in forms
        for ensure_ascii in (True, False)
    }
    return tuple(sorted(forms | escaped))


def holds(value: object, texts: Iterable[str]) -> bool:
    """Return whether a value holds one of the texts, in any field or element of it."""
    needles = tuple(texts)
    return any(needle in text for text in _strings(value) for needle in needles)


def turns_holding(
    contents: GroupContents, records: Iterable[CommitRecord], texts: Iterable[str]
) -> tuple[set[TurnId], set[TurnId]]:
    """Return the turns whose own text holds a spelling of a text, and those that only left it.

    A turn left it if an entity or a fact that it made or changed held it afterwards, or if it wrote
    a summary with it which follows from none of these turns: the undo of a turn takes back what
    later ones wrote about its entities. The second set may include turns of the first.
    """
    needles = tuple(texts)
    own = {
        receipt.turn_id
        for receipt in contents.receipts
        if holds((contents.texts.get(receipt.turn_id), receipt.cwd, receipt.git_branch), needles)
    }
    ordered = sorted(records, key=lambda record: record.sequence)
    left = _left_by(_without_summaries(contents, ordered), ordered, needles)
    return own, left | _left_by_summary(ordered, own | left, needles)


def _without_summaries(contents: GroupContents, records: Iterable[CommitRecord]) -> GroupContents:
    """Return the group without the summaries that turns record; one that they replaced is back."""
    recorded: dict[str, str] = {}
    for record in records:
        for one in decode(record.summaries):
            is_written = one.text is not None or all(contents.summaries.values())
            if is_written:
                replaced = one.refresh.replaced if one.refresh else ""
                recorded[one.entity] = recorded.get(one.entity) or replaced
    entities = (
        replace(entity, summary=recorded[entity.uuid]) if entity.uuid in recorded else entity
        for entity in contents.entities
    )
    return replace(contents, entities=tuple(entities))


def _left_by_summary(
    records: Iterable[CommitRecord], undone: Collection[TurnId], texts: Sequence[str]
) -> set[TurnId]:
    """Return the turns that wrote a text into a summary which the undone turns do not concern."""
    left, taken_back = set(), set[str]()
    for record in records:
        turn, summaries = record.receipt.turn_id, decode(record.summaries)
        kept = (one for one in summaries if one.entity not in taken_back)
        if turn not in undone and any(holds(one.text or "", texts) for one in kept):
            left.add(turn)
        if turn in undone or turn in left:
            taken_back |= {one.entity for one in summaries}
    return left


def _left_by(
    contents: GroupContents, records: Sequence[CommitRecord], texts: Sequence[str]
) -> set[TurnId]:
    """Return the turns after which an entity or a fact that they made or changed held a text."""
    holding = {entity.uuid: holds(entity, texts) for entity in contents.entities}
    holding |= {fact.uuid: holds(fact, texts) for fact in contents.facts}
    left = set()
    # Newest first: the state after a turn is the one that the next turn found.
    for record in reversed(records):
        before = {entity.uuid: holds(entity, texts) for entity in record.entities_before}
        before |= {fact.uuid: holds(fact, texts) for fact in record.facts_before}
        touched = (*record.entities_new, *record.facts_new, *before)
        if any(holding.get(uuid) for uuid in touched):
            left.add(record.receipt.turn_id)
        holding |= before
    return left


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _strings(key)
            yield from _strings(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _strings(one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _strings(getattr(value, field.name))
