"""From what a user types, an id, a name or an archive line, to the one item that it leads to."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.base.model import ID_CHARS, Entity, GroupId
from turnetl.base.projects import project
from turnetl.base.results import described
from turnetl.base.text import one_line, plural
from turnetl.index.conditions import fold
from turnetl.index.lookup import IndexedItem, ItemKind, Lookup
from turnetl.index.port import IndexedTurn
from turnetl.retrieval.turn_summary import titles

if TYPE_CHECKING:  # the index itself imports its libraries
    from turnetl.index.persistent import PersistentIndex

_LISTED = 8
"""Candidates that a message lists."""
_NAME_CHARS = 60
_MORE_OF_ID, _ONE_ID = "Type more of the id", "Type the id of one of them"
_MIN_SUFFIX = 2
"""Parts of a path that lead to a file by its end: a bare name is in many folders."""
FILE_LABEL = "File"
ERROR_LABEL = "Error"
_ARCHIVE_LINE = re.compile(r"(?P<archive>.+?):(?P<line>[0-9]{1,9})(?:-[0-9]{1,9})?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MatchingItem:
    item: IndexedItem
    description: str
    """Its kind or labels, the beginning of its id, its name and its group or archive."""


class AmbiguousItem(BadUsage):
    """An id, a name or an archive line leads to several items."""

    def __init__(self, text: str, matching: Sequence[MatchingItem], remedy: str) -> None:
        """Name the first of the items; `remedy` is the sentence that says what to type."""
        self.text = one_line(text, _NAME_CHARS)
        self.matching = tuple(matching[:_LISTED])
        """Those that the message lists."""
        self.has_more = len(matching) > _LISTED
        groups = len({one.item.group_id for one in matching})
        several = f"`{self.text}` is several{f', in {groups:,} projects' * (groups > 1)}"
        listed = [one.description for one in self.matching] + ["and more"] * self.has_more
        super().__init__(f"{several}: {'; '.join(listed)}. {remedy}")
        self._lines = (f"{several}:", *(f"  {one}" for one in listed), remedy)

    @property
    def lines(self) -> Sequence[str]:
        return self._lines


@dataclass(frozen=True, slots=True)
class Namesake:
    """An entity to which a name leads, as others."""

    id: Annotated[str, described("Id of the entity.")]
    name: Annotated[str, described("Its name.")]
    labels: Annotated[tuple[str, ...], described("Its labels.")]
    group_id: Annotated[GroupId, described("Its group.")]
    turns: Annotated[int, described("Turns that state a fact about it.")]

    @property
    def item(self) -> IndexedItem:
        return IndexedItem(ItemKind.ENTITY, self.id, self.group_id)

    @property
    def description(self) -> str:
        """Its labels, the beginning of its id, its name, its group and its turns."""
        label, name = ", ".join(self.labels) or "entity", one_line(self.name, _NAME_CHARS)
        turns = plural(self.turns, "turn")
        return f"{label} {self.id[: ID_CHARS + 4]} ({name}, group {self.group_id}, {turns})"


TurnsAt = Callable[[str, int], Collection[str]]
"""Returns the ids of turns of which a subagent has a line, from 1, of an archive."""


def find_item(
    index: "PersistentIndex", text: str, directory: Path, turns_at: TurnsAt = lambda *_: ()
) -> tuple[IndexedItem, tuple[Namesake, ...]]:
    """Resolve an id, the beginning of one, a name, the path of a file, or an archive line.

    A file is found by the end of its path, its absolute path, or a path that starts with a dot and
    is relative to the directory; a turn also by `ARCHIVE:LINE`, that of a subagent included.

    Of several with one name, it is the only one of the directory's project; the others follow.

    Raises:
        BadUsage: no item matches, or several do (`AmbiguousItem`).
    """
    lookup, text = index.lookup(), _given(text)
    matches = lookup.with_prefix(text, _LISTED + 1)
    found = [item for item in matches if item.id == text] or matches
    if not found and (named := _named(lookup, text, directory)):
        one, *others = _chosen(lookup, text, named, directory)
        return one.item, tuple(others)
    found = found or _at_line(index, text, turns_at)
    if not found:
        raise BadUsage(
            f"nothing has the id or the name `{one_line(text, _NAME_CHARS)}`: `turnetl search` and "
            "`turnetl timeline` print ids"
        )
    if len(found) > 1:
        described = _described if matches else _located
        matching = [MatchingItem(item, described(index, item)) for item in found]
        raise AmbiguousItem(text, matching, _MORE_OF_ID if matches else _ONE_ID)
    return found[0], ()


def find_entity(
    lookup: Lookup,
    text: str,
    label: str | None = None,
    groups: Sequence[GroupId] = (),
    directory: Path | None = None,
) -> tuple[Entity, tuple[Namesake, ...]]:
    """Return the entity of these groups with this name, in any case, or with an id that starts so.

    It is also found by another spelling, such as `cart.add_item()` of `addItem`, and a file by the
    end or the absolute form of its path. Of several with one name, it is the only one of the
    directory's project; the others follow.

    Raises:
        BadUsage: there is none, or there are several (`AmbiguousItem`).
    """
    text, is_file = _given(text), label is not None and _is_same(label, FILE_LABEL)
    named = [] if is_file else lookup.entities_named(text) or lookup.entities_spelled(text)
    candidates = named or (_files(lookup, text) if label is None or is_file else [])
    found = {
        entity.uuid: entity
        for entity in candidates or _by_id(lookup, text)
        if _has_label(entity, label) and (not groups or entity.group_id in groups)
    }
    if not found:
        raise BadUsage(_unknown(lookup, text, label))
    remedy = _ONE_ID if candidates else _MORE_OF_ID
    one, *others = _chosen(lookup, text, [*found.values()], directory, remedy)
    return found[one.id], tuple(others)


def _chosen(
    lookup: Lookup,
    text: str,
    found: Sequence[Entity],
    directory: Path | None,
    remedy: str = _ONE_ID,
) -> list[Namesake]:
    """Return the only entity, or the only one of the directory's project, before the others.

    Raises:
        AmbiguousItem: there are several; those of this project, and of most turns, are first.
    """
    own = None if directory is None else ids.group_id(project(str(directory)))
    turns = lookup.turn_counts([entity.uuid for entity in found])
    namesakes = [
        Namesake(one.uuid, one.name, one.labels, one.group_id, turns.get(one.uuid, 0))
        for one in found
    ]
    ordered = sorted(namesakes, key=lambda one: (one.group_id != own, -one.turns))
    if len(found) > 1 and [one.group_id == own for one in ordered[:2]] != [True, False]:
        matching = [MatchingItem(one.item, one.description) for one in ordered]
        raise AmbiguousItem(text, matching, remedy)
    return ordered


def similar_names(lookup: Lookup, text: str, label: str | None) -> str:
    """Return the names that contain a name, or the last part of a path, as a part of a message."""
    text = _storable(text)
    part = text.strip("/").rpartition("/")[2] if label == FILE_LABEL else text
    similar = lookup.names_containing(part, label, _LISTED) if part else []
    if not similar:
        return "`turnetl search` finds turns by other words"
    return f"similar: {', '.join(f'`{one_line(name, _NAME_CHARS)}`' for name in similar)}"


def file_path(text: str, directory: Path) -> str:
    """Return a path with slashes; one that starts with a dot becomes absolute."""
    path = text.replace("\\", "/")
    if path.split("/")[0] in (".", ".."):
        return normpath(directory / path).replace("\\", "/")
    return path


def _by_id(lookup: Lookup, text: str) -> list[Entity]:
    items = lookup.with_prefix(text, _LISTED + 1) if text.strip() else []
    found = [lookup.entity(item.id) for item in items if item.kind is ItemKind.ENTITY]
    return [entity for entity in found if entity is not None]


def _named(lookup: Lookup, text: str, directory: Path) -> list[Entity]:
    """Return the entities with this name, such as the command `./gradlew`, else the files."""
    named = lookup.entities_named(text) or lookup.entities_spelled(text)
    return named or _files(lookup, file_path(text, directory))


def archive_line(text: str) -> tuple[str, int] | None:
    """Return the archive and the line, from 1, that `ARCHIVE:LINE` names; None for other texts."""
    found = _ARCHIVE_LINE.fullmatch(text.strip())
    return None if found is None else (found["archive"], int(found["line"]))


def _at_line(index: "PersistentIndex", text: str, turns_at: TurnsAt) -> list[IndexedItem]:
    """Return the turns at a line of the archives of a name; none if the text names no line."""
    if (place := archive_line(text)) is None:
        return []
    keys = index.turns_at(*place) or index.lookup().turn_keys(turns_at(*place)).values()
    receipts = [turn.receipt for turn in index.turns(keys).values()]
    return [IndexedItem(ItemKind.TURN, one.turn_id, one.group_id) for one in receipts]


def _files(lookup: Lookup, path: str) -> list[Entity]:
    """Return the file of that path, else those whose paths end with it, or with which it ends."""
    path = path.replace("\\", "/")
    ending = lookup.files_ending_with(path) if path.strip("/") else []
    if ending:
        same = [entity for entity in ending if _is_same(entity.name, path)]
        return [entity for entity in same if entity.name == path] or same or ending
    parts = path.strip("/").split("/")
    for start in range(1, len(parts) - _MIN_SUFFIX + 1):
        suffix = "/".join(parts[start:])
        ending = lookup.files_ending_with(suffix)
        if named := [entity for entity in ending if _is_same(entity.name, suffix)]:
            return named
    return []


def _has_label(entity: Entity, label: str | None) -> bool:
    return label is None or any(_is_same(label, other) for other in entity.labels)


def _is_same(name: str, other: str) -> bool:
    return fold(name) == fold(other)


def _unknown(lookup: Lookup, text: str, label: str | None) -> str:
    noun = "file" if label == FILE_LABEL else "entity"
    name = one_line(text, _NAME_CHARS)
    return f"there is no {noun} `{name}` in the graph; {similar_names(lookup, text, label)}"


def _described(index: "PersistentIndex", item: IndexedItem) -> str:
    match item.kind:
        case ItemKind.TURN:
            turn = _turn(index, item)
            name = "" if turn is None else titles(index, [turn])[turn.key].intent
        case ItemKind.SESSION:
            name = item.group_id
        case ItemKind.ENTITY:
            entity = index.lookup().entity(item.id)
            name = "" if entity is None else f"{entity.name}, group {entity.group_id}"
        case ItemKind.FACT:
            fact = index.lookup().fact(item.id)
            name = fact.indexed.fact.text if fact is not None else ""
    shown = item.id if item.kind is ItemKind.SESSION else item.id[: ID_CHARS + 4]
    return f"{item.kind} {shown} ({one_line(name, _NAME_CHARS)})"


def _located(index: "PersistentIndex", item: IndexedItem) -> str:
    """Return a turn with its archive: archives in different folders have the same name."""
    turn = _turn(index, item)
    archive = "" if turn is None else f" {turn.receipt.archive}"
    return f"{_described(index, item)}{archive}"


def _turn(index: "PersistentIndex", item: IndexedItem) -> IndexedTurn | None:
    key = index.lookup().turn_key(item.id)
    return next(iter(index.turns([] if key is None else [key]).values()), None)


def _given(text: str) -> str:
    if not text.strip():
        raise BadUsage(
            "no id and no name is given: `turnetl search` and `turnetl timeline` print ids"
        )
    return _storable(text)


def _storable(text: str) -> str:
    """Return the text as a database takes it: an argument may have bytes that are not UTF-8."""
    return text.encode("utf-8", "replace").decode()
