"""From what a user types, an id or a name, to the one turn, session, entity or fact."""

from collections.abc import Iterable, Sequence
from os.path import normpath
from pathlib import Path

from turnetl.errors import BadUsage
from turnetl.index.folding import fold
from turnetl.index.lookup import IndexedItem, ItemKind, Lookup, LookupIndex
from turnetl.model import Entity, GroupId
from turnetl.retrieval.excerpts import prompt_title
from turnetl.retrieval.turn_summary import ID_CHARS, one_line

_LISTED = 8
"""Candidates that a message lists."""
_NAME_CHARS = 60
_MIN_SUFFIX = 2
"""Parts of a path that lead to a file by its end: a bare name is in many folders."""
FILE_LABEL = "File"
ERROR_LABEL = "Error"


def find_item(index: LookupIndex, text: str, directory: Path) -> IndexedItem:
    """Resolve an id, the beginning of one, the name of an entity, or the path of a file.

    Args:
        index: of the graph.
        text: an id or a name; of a file also the end of its path, its absolute path, or a path that
            starts with a dot.
        directory: the one to which such a path is relative.

    Raises:
        BadUsage: no item or several items match; the message lists some of them.
    """
    lookup, text = index.lookup(), _storable(text)
    if not text.strip():
        raise BadUsage(
            "no id and no name is given: `turnetl search` and `turnetl timeline` print ids"
        )
    matches = lookup.with_prefix(text, _LISTED + 1)
    exact = [item for item in matches if item.id == text]
    found = exact or matches or [_item(entity) for entity in _named(lookup, text, directory)]
    if not found:
        raise BadUsage(
            f"nothing has the id or the name `{one_line(text, _NAME_CHARS)}`: `turnetl search` and "
            "`turnetl timeline` print ids"
        )
    if len(found) > 1:
        described = [_described(index, item) for item in found]
        raise _ambiguous(text, described, by_id=bool(matches))
    return found[0]


def find_entity(
    lookup: Lookup, text: str, label: str | None = None, groups: Sequence[GroupId] = ()
) -> Entity:
    """Return the entity with this name, or with an id that starts so.

    Args:
        lookup: of the index.
        text: a name, in any case; of a file also the end or the absolute form of its path.
        label: only an entity with this label.
        groups: only an entity of these groups; all groups if empty.

    Raises:
        BadUsage: there is none, or there are several; the message lists some of them.
    """
    text, is_file = _storable(text), label is not None and _is_same(label, FILE_LABEL)
    candidates = _files(lookup, text) if is_file else lookup.entities_named(text)
    found = [
        entity
        for entity in candidates or _by_id(lookup, text)
        if _has_label(entity, label) and (not groups or entity.group_id in groups)
    ]
    if not found:
        raise BadUsage(_unknown(lookup, text, label))
    if len(found) > 1:
        raise _ambiguous(text, map(_entity_described, found), by_id=not candidates)
    return found[0]


def similar_names(lookup: Lookup, text: str, label: str | None) -> str:
    """Return the names that contain a name, or the last part of a path, as a part of a message.

    Args:
        lookup: of the index.
        text: a name that no entity has.
        label: only names of entities with this label; None: with any.
    """
    text = _storable(text)
    part = text.strip("/").rpartition("/")[2] if label == FILE_LABEL else text
    similar = lookup.names_containing(part, label, _LISTED) if part else []
    if not similar:
        return "`turnetl search` finds turns by other words"
    return f"similar: {', '.join(f'`{one_line(name, _NAME_CHARS)}`' for name in similar)}"


def file_path(text: str, directory: Path) -> str:
    """Return a path with slashes; one that starts with a dot becomes absolute.

    Args:
        text: a path as a user types it.
        directory: the one to which it is relative.
    """
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
    return lookup.entities_named(text) or _files(lookup, file_path(text, directory))


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


def _ambiguous(text: str, described: Iterable[str], *, by_id: bool) -> BadUsage:
    lines = list(described)
    listed = "; ".join(lines[:_LISTED])
    more = "; and more" if len(lines) > _LISTED else ""
    remedy = "Type more of the id" if by_id else "Type the id of one of them"
    return BadUsage(f"`{one_line(text, _NAME_CHARS)}` is several: {listed}{more}. {remedy}")


def _described(index: LookupIndex, item: IndexedItem) -> str:
    match item.kind:
        case ItemKind.TURN:
            key = index.lookup().turn_key(item.id)
            turns = index.turns([] if key is None else [key]).values()
            name = next((prompt_title(turn.text) for turn in turns), "")
        case ItemKind.SESSION:
            name = item.group_id
        case ItemKind.ENTITY:
            entity = index.lookup().entity(item.id)
            return _entity_described(entity) if entity is not None else item.id
        case ItemKind.FACT:
            fact = index.lookup().fact(item.id)
            name = fact.indexed.fact.text if fact is not None else ""
    shown = item.id if item.kind is ItemKind.SESSION else item.id[: ID_CHARS + 4]
    return f"{item.kind} {shown} ({one_line(name, _NAME_CHARS)})"


def _entity_described(entity: Entity) -> str:
    label = ", ".join(entity.labels) or "entity"
    name = one_line(entity.name, _NAME_CHARS)
    return f"{label} {entity.uuid[: ID_CHARS + 4]} ({name}, group {entity.group_id})"


def _storable(text: str) -> str:
    """Return the text as a database takes it: an argument may have bytes that are not UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _item(entity: Entity) -> IndexedItem:
    return IndexedItem(ItemKind.ENTITY, entity.uuid, entity.group_id)
