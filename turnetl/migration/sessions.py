"""The sessions of archives, as a migration compares them with what a graph holds."""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import polars as pl

from turnetl.base.graph_model import GroupContents, Receipt
from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.graph.session_level import UnrecordedEpisode
from turnetl.lake import Lake


@dataclass(frozen=True, slots=True)
class ArchivedSession:
    """A session that archives hold."""

    format: str
    session_id: SessionId
    started_at: datetime | None
    """None if its archives have no times."""
    ended_at: datetime | None
    turns: int
    """Turns that a migration would ingest."""
    noise: int
    """Turns that are marked as noise."""
    chars: int
    """Of the episode texts of `turns`."""
    tokens: int
    """Of the same, estimated."""
    archives: tuple[Path, ...]
    """Sorted."""
    text: str
    """The episode texts of all of its turns, joined."""


_COLUMNS = (
    *("format", "session_id", "started_at", "ended_at", "noise", "archive"),
    *("text", "chars_after", "tokens", "ordinal"),
)


def archived_sessions(lake: Lake, groups: Iterable[GroupId]) -> list[ArchivedSession]:
    """Return the sessions of these groups of a lake, by (format, session_id).

    A session with turns in several groups is one session.

    Raises:
        TableUnusable: an episodes table is damaged or missing.
    """
    frames = [lake.scan_episodes(group).select(_COLUMNS).collect() for group in groups]
    if not frames:
        return []
    is_kept = pl.col("noise").is_null()
    sessions = (
        pl.concat(frames)
        .sort("format", "session_id", "ordinal", "started_at")
        .group_by("format", "session_id", maintain_order=True)
        .agg(
            started_at=pl.col("started_at").min(),
            ended_at=pl.max_horizontal(pl.col("started_at").max(), pl.col("ended_at").max()),
            turns=is_kept.sum(),
            noise=(~is_kept).sum(),
            chars=pl.col("chars_after").filter(is_kept).sum(),
            tokens=pl.col("tokens").filter(is_kept).sum(),
            archives=pl.col("archive").unique().sort(),
            text=pl.col("text").str.join("\n"),
        )
    )
    return [_session(row) for row in sessions.iter_rows(named=True)]


def _session(row: dict[str, Any]) -> ArchivedSession:
    return ArchivedSession(**{**row, "archives": tuple(map(Path, row["archives"]))})


def loaded_sessions(
    contents: GroupContents, expected: Iterable[tuple[str, str]]
) -> list[ArchivedSession]:
    """Return the sessions of a loaded group, by (format, session_id).

    Args:
        contents: the turns.
        expected: (format, session_id) of sessions that are returned even without a turn.
    """
    receipts: dict[tuple[str, str], list[Receipt]] = {key: [] for key in expected}
    for receipt in contents.receipts:
        receipts.setdefault((receipt.format, receipt.session_id), []).append(receipt)
    return [_loaded_session(key, receipts[key], contents.texts) for key in sorted(receipts)]


def _loaded_session(
    key: tuple[str, str], receipts: Sequence[Receipt], texts: Mapping[TurnId, str]
) -> ArchivedSession:
    found = [texts.get(one.turn_id, "") for one in receipts]
    return ArchivedSession(
        format=key[0],
        session_id=SessionId(key[1]),
        started_at=min((one.started_at for one in receipts), default=None),
        ended_at=max((one.ended_at or one.started_at for one in receipts), default=None),
        turns=len(receipts),
        noise=0,
        chars=sum(map(len, found)),
        tokens=0,
        archives=(),
        text="\n".join(found),
    )


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
        by_id: dict[str, list[int]] = defaultdict(list)
        for position, session_id in enumerate(ids):
            by_id[session_id.lower()].append(position)
        self._by_id = by_id
        self._sorted = sorted(by_id)

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

    Args:
        ids: of the known sessions, each once. An id that is none of them is returned as it is
            written.
        episodes: of other programs.
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
    """Return whether the id hardly occurs in a text by chance."""
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
            if isinstance(item, dict):
                yield from _session_values(item.items())
        level = [child for item in level for child in _children(item)]


def _session_values(items: Iterable[tuple[str, Any]]) -> Iterator[str]:
    for key, value in items:
        if _ID_KEY.fullmatch(key) and isinstance(value, str | int) and str(value).strip():
            yield str(value).strip()


def _children(item: Any) -> Iterable[Any]:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()
