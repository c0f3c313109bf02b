"""Which entity of its group each thing of a turn is, under whatever name the turn calls it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain

from turnetl.base import ids
from turnetl.base.model import (
    DESCRIPTION,
    Entity,
    GroupId,
    description,
    with_aliases,
)
from turnetl.extraction.structural.findings import (
    BRANCH,
    COMMAND,
    COMMIT,
    CONCEPT,
    FILE,
    FLAG,
    PACKAGE,
    PULL_REQUEST,
    SETTING,
    SYMBOL,
    TEST,
    TICKET,
    TOOL,
    EntityKey,
)
from turnetl.graph.mirror.group import GroupView

_THINGS = (FILE, SYMBOL, TEST, SETTING, COMMAND, PACKAGE, TOOL, TICKET, PULL_REQUEST, FLAG)
_TWINS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_THINGS, (CONCEPT,)),
    CONCEPT: _THINGS,
    SYMBOL: (TEST, SETTING, CONCEPT),
    TEST: (SYMBOL, CONCEPT),
    SETTING: (SYMBOL, CONCEPT),
    TOOL: (PACKAGE, COMMAND, CONCEPT),
    PACKAGE: (TOOL, COMMAND, CONCEPT),
    COMMAND: (TOOL, PACKAGE, CONCEPT),
}
"""Labels under which another turn may have named the same thing, by the label of this one."""
_MORE_SPECIFIC: Mapping[str, frozenset[str]] = {
    CONCEPT: frozenset(_THINGS),
    SYMBOL: frozenset({TEST, SETTING}),
}
"""The labels that replace a less specific one."""
_WITH_ALIASES = frozenset({*_THINGS, BRANCH, COMMIT, CONCEPT})
_MAX_FOLDERS = 12
"""Folders above a guessed root that a path of the group may start with."""
_WHERE = re.compile(r"\w+ in `([^`]+)`")
"""Begins the description of what a file declares."""
_LABELLED = re.compile(
    r"(?P<place>[A-Z]\w*(?:(?: used)? in `[^`]*`)?)(?:: (?P<said>.+))?", re.DOTALL
)
"""A description that begins with a label and a place; others say what the thing is."""


@dataclass
class _Found:
    """An entity of the turn, and how the turn calls it."""

    keys: list[EntityKey] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


class TurnEntities:
    """The entities of a turn, resolved in its group one after the other."""

    def __init__(self, group_id: GroupId, group: GroupView, *, guessed_root: str = "") -> None:
        """Start without entities.

        `guessed_root` is the folder at which the turn's paths of files start, if it may lie inside
        the project; empty if they start at the project's root.
        """
        self._group_id = group_id
        self._group = group
        self._above = guessed_root.strip("/").split("/")[-_MAX_FOLDERS:] if guessed_root else []
        self._uuids: dict[EntityKey, str] = {}
        self._found: dict[str, _Found] = {}

    def uuid(self, key: EntityKey) -> str:
        """Return the id of the entity, and note the spelling of the name."""
        uuid = self._uuids.get(key)
        if uuid is None:
            uuid = self._uuids[key] = self._resolved(key)
            self._found.setdefault(uuid, _Found()).keys.append(key)
        self._found[uuid].names.add(key.name)
        return uuid

    def is_known(self, key: EntityKey) -> bool:
        return self._is_known(self._resolved(key))

    def mention_file(self, path: str) -> None:
        """Note the only file of the group whose path is this one or ends so, if there is one."""
        end = f"/{path}".casefold()
        named = self._group.files_named(path.rpartition("/")[2])
        ending = {one.uuid: one.name for one in named if f"/{one.name}".casefold().endswith(end)}
        if len(ending) == 1:
            self.uuid(EntityKey(FILE, *ending.values()))

    @property
    def names(self) -> dict[str, str]:
        """The name that the turn first calls each entity, by id."""
        return {uuid: found.keys[0].name for uuid, found in self._found.items()}

    def changed(self, now: datetime) -> Iterator[Entity]:
        """Yield the entities that are new, or of which the turn tells a label, a name or more."""
        for uuid, found in self._found.items():
            known = self._group.entity(uuid)
            entity = known or Entity(uuid, self._group_id, found.keys[0].name, (), "", now)
            for key in found.keys:
                entity = _described(_labelled(entity, key), key)
            if not _WITH_ALIASES.isdisjoint(entity.labels):
                entity = with_aliases(entity, found.names)
            if entity != known:
                yield entity

    def _resolved(self, key: EntityKey) -> str:
        if key.label == FILE:
            return self._file(key.name)
        own = self._id(key.label, key.name)
        others = (self._id(label, key.name) for label in _TWINS.get(key.label, ()))
        qualified = self._qualified(key) if key.label == SYMBOL else ()
        return next(filter(self._is_known, (own, *others, *qualified)), own)

    def _qualified(self, key: EntityKey) -> Iterator[str]:
        """Yield the ids of a symbol of one word with and without its module, class or package.

        `Cart.add` is the `add` that `cart.py` declares.
        """
        scope, _, name = key.name.replace("::", ".").rpartition(".")
        if not scope:
            yield from (self._id(SYMBOL, f"{part}.{name}") for part in _scopes(key.description))
            return
        known = self._id(SYMBOL, name)
        entity, own = self._group.entity(known), self._found.get(known, _Found()).keys
        texts = [str(entity.attributes.get(DESCRIPTION, ""))] if entity else []
        scopes = chain(*map(_scopes, (*texts, *(one.description for one in own))))
        if scope.rpartition(".")[2].casefold() in scopes:
            yield known

    def _file(self, name: str) -> str:
        """Return the file of that path, else one that the group knows by a longer end of it."""
        longer = ("/".join((*self._above[start:], name)) for start in range(len(self._above)))
        known = (self._id(FILE, path) for path in longer)
        others = (*known, self._id(CONCEPT, name))
        own = self._id(FILE, name)
        return next(filter(self._is_known, (own, *others)), own)

    def _is_known(self, uuid: str) -> bool:
        return uuid in self._found or self._group.entity(uuid) is not None

    def _id(self, label: str, name: str) -> str:
        return ids.entity_id(self._group_id, label, ids.folded_name(label, name))


def _scopes(text: str) -> list[str]:
    """Return the last folder and the name of the file in a description, in lower case."""
    where = _WHERE.match(text)
    return [part.partition(".")[0].casefold() for part in where[1].split("/")[-2:]] if where else []


def _labelled(entity: Entity, key: EntityKey) -> Entity:
    labels = {*entity.labels, key.label, key.second_label} - {""}
    vague = {label for label, better in _MORE_SPECIFIC.items() if not better.isdisjoint(labels)}
    return replace(entity, labels=tuple(sorted(labels - vague)))


def _joined(known: str, other: str) -> str:
    """Return where a thing is, as one description shows, with what one of them says of it."""
    found = [_LABELLED.fullmatch(text) for text in (known, other)]
    own = [text for text, match in zip((known, other), found, strict=True) if not match]
    said = [*own, *(match["said"] for match in found if match and match["said"])][:1]
    place = next((match["place"] for match in found if match and " in `" in match["place"]), "")
    label = "" if own or not found[0] else found[0]["place"]
    if own and place:
        said = [own[0][:1].lower() + own[0][1:]]
    return ": ".join(filter(None, (place or label, *said)))


def _described(entity: Entity, key: EntityKey) -> Entity:
    """Return the entity with what it is; it is its summary until a turn has a fact about it."""
    known = str(entity.attributes.get(DESCRIPTION, ""))
    better = key.description
    if known and better:
        better = _joined(known, better)
    if better in {"", known}:
        return entity
    summary = "" if entity.summary == description(entity) else entity.summary
    entity = replace(entity, attributes={**entity.attributes, DESCRIPTION: better})
    return replace(entity, summary=summary or description(entity))
