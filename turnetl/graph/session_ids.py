"""Session ids in what a session-level writer left on an episode: name, description or body."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from turnetl.base.batched import grouped
from turnetl.base.model import SessionId
from turnetl.graph.session_level import UnrecordedEpisode


class IdField(StrEnum):
    """Where an episode names a session, the most telling place first."""

    NAME = "name"
    DESCRIPTION = "source_description"
    JSON_BODY = "JSON body"
    BODY = "first lines"


@dataclass(frozen=True, slots=True)
class NamedSessions:
    """What the first field says that names a session."""

    field: IdField
    sessions: tuple[int, ...]
    """Positions of the sessions with that id; empty if no archive has it."""
    name: str
    """The id as it was found."""


class SessionIds:
    """The ids of sessions, looked up in texts."""

    def __init__(self, ids: Sequence[str]) -> None:
        """Index the ids; a session is its position. Several may have one id."""
        self._by_id = grouped((one.lower(), position) for position, one in enumerate(ids))
        self._sorted = sorted(self._by_id)

    def find(self, episode: UnrecordedEpisode) -> NamedSessions | None:
        """Return what the episode says about its session; None if it names none.

        An id of no session counts if it is marked as one, or is a uuid outside of the body.
        """
        unknown: NamedSessions | None = None
        for field, names in _named(episode, self):
            found = {name: self._positions(name) for name in names}
            known = {position for positions in found.values() for position in positions}
            if known:
                first = next(name for name in names if found[name])
                return NamedSessions(field, tuple(sorted(known)), first)
            if names and unknown is None:
                unknown = NamedSessions(field, (), names[0])
        return unknown

    def occurring_in(self, text: str) -> Iterator[str]:
        """Yield the distinctive ids that the text holds as a word, or as a part of one."""
        for word in _WORD.findall(text):
            pieces = _PIECE.findall(word)[: 2 * _MOST_PIECES]
            for start in range(0, len(pieces), 2):
                for end in range(len(pieces), start, -1):
                    part = "".join(pieces[start:end]).lower()
                    if part in self._by_id and _is_distinctive(part):
                        yield part
                        break

    def _positions(self, name: str) -> Sequence[int]:
        """Return the sessions of an id, or of a part of a uuid with which only they begin."""
        lowered = name.lower()
        if lowered in self._by_id:
            return self._by_id[lowered]
        if not _SHORTENED.fullmatch(lowered):
            return ()
        first = bisect_left(self._sorted, lowered)
        longer = [one for one in self._sorted[first : first + 2] if one.startswith(lowered)]
        return [position for one in longer for position in self._by_id[one]]


def named_sessions(
    ids: Sequence[SessionId], episodes: Iterable[UnrecordedEpisode]
) -> dict[str, SessionId]:
    """Return the session that each episode names, by its uuid; without those that name several.

    `ids` are those of the known sessions, each once. Another id is returned as it is written.
    """
    known = SessionIds(ids)
    found = ((episode.uuid, known.find(episode)) for episode in episodes)
    return {
        uuid: ids[named.sessions[0]] if named.sessions else SessionId(named.name)
        for uuid, named in found
        if named is not None and len(named.sessions) <= 1
    }


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SHORTENED = re.compile(r"[0-9a-f]{8}[0-9a-f-]*")
_WORD = re.compile(r"[A-Za-z0-9][\w.:-]{4,200}")
_PIECE = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]+")
_MOST_PIECES = 16
_LABELLED = re.compile(
    r"""\b(?:session|conversation|transcript|chat)        # what it is
    (?:(?:[\s_-]*(?:id|uuid))["'`]?\s*[:=]?|["'`]?\s*[:=#])  # its id
    \s*["'`(\[<]*([A-Za-z0-9][\w.-]{3,199})""",
    re.IGNORECASE | re.VERBOSE,
)
_ID_KEY = re.compile(
    r"(?:session|conversation|transcript|chat)(?:[_-]?(?:id|uuid))?", re.IGNORECASE
)
_DISTINCTIVE = 8
"""Characters of an id that hardly occurs in a text by chance."""
_FIRST_LINES = 4
_FIRST_CHARS = 1_000


def _named(episode: UnrecordedEpisode, ids: SessionIds) -> Iterator[tuple[IdField, list[str]]]:
    """Yield the ids that each field names, without repetitions."""
    for field, text in (
        (IdField.NAME, episode.name),
        (IdField.DESCRIPTION, episode.source_description),
    ):
        names = [*ids.occurring_in(text), *_UUID.findall(text), *_labelled(text)]
        yield field, list(dict.fromkeys(names))
    body = _document(episode.text)
    if body is not None:
        yield IdField.JSON_BODY, list(dict.fromkeys(_values(body)))
    else:
        head = "\n".join(episode.text[:_FIRST_CHARS].splitlines()[:_FIRST_LINES])
        yield IdField.BODY, list(dict.fromkeys(_labelled(head)))


def _labelled(text: str) -> Iterator[str]:
    """Yield what the text marks as the id of a session, and what looks like one."""
    return (name.rstrip(".") for name in _LABELLED.findall(text) if _looks_like_id(name))


def _looks_like_id(name: str) -> bool:
    return any(char.isdigit() for char in name)


def _is_distinctive(name: str) -> bool:
    return len(name) >= _DISTINCTIVE and _looks_like_id(name)


def _document(text: str) -> Any:
    """Return the JSON object or list that the text is; None if it is none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _values(document: Any) -> Iterator[str]:
    """Yield the texts under keys that name a session, breadth first; nesting cannot hurt."""
    level: list[Any] = [document]
    while level:
        for item in level:
            for key, value in item.items() if isinstance(item, dict) else ():
                if _ID_KEY.fullmatch(key) and isinstance(value, str | int) and str(value).strip():
                    yield str(value).strip()
        level = [child for item in level for child in _children(item)]


def _children(item: Any) -> Iterable[Any]:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()
