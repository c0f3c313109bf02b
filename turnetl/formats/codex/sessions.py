"""The sessions of one rollout: its own and, if it is a fork, those whose turns it repeats.

A fork begins with its own `session_meta`; then all rows of its parent follow, the parent's
`session_meta` first, with the time of the fork written over their own. What such a turn keeps is
its id, which in turn holds the time at which it was made.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from turnetl.formats.base import parse_time
from turnetl.formats.codex.rows import Item

_ID = re.compile(r"[\w.:-]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SERVED = re.compile(r"[a-z]+_([0-9a-f]{8})[0-9a-f]{24,}")
"""Ids of 2025 begin with the seconds since 1970; later ones do not, and give a time far off."""
_NEAR = timedelta(days=366)
_TIMED = "7"
"""The version of uuids that begin with the time."""
_PAUSE = timedelta(seconds=1)
"""Copied rows are written in one go; a person needs longer."""


@dataclass(slots=True)
class Sessions:
    """The sessions of one rollout, as far as it was read."""

    own: str | None = None
    is_subagent: bool = False
    replaying: bool = False
    """Whether the rows are copies, whose times are those of the copying."""
    start: datetime | None = None
    """When the own session began."""
    _known: bool = False
    _last: str | None = None
    _starts: dict[str, datetime | None] = field(default_factory=dict)
    """When each session began."""
    _parents: dict[str, str | None] = field(default_factory=dict)
    _timed: bool = False
    """Whether copied turns have ids that tell their time."""
    _before: datetime | None = None

    def enter(self, meta: Item) -> None:
        """Take a `session_meta`. The first is the rollout's own."""
        session = _plain_id(meta.id)
        if not self._known:
            self._begin(meta, session)
        elif session is not None:
            self._go_on(session, _minted(session) or parse_time(meta.timestamp))
        if session is not None:
            self._starts[session] = _minted(session) or parse_time(meta.timestamp)
            self._parents.setdefault(session, _plain_id(meta.forked_from_id))
            self._last = session

    def pass_time(self, written: datetime | None) -> None:
        """Take the time written on a row: a pause ends the copying where no id tells its end."""
        before, self._before = self._before, written or self._before
        if self._timed or before is None or written is None:
            return
        self.replaying = self.replaying and written - before <= _PAUSE

    def of(self, turn_id: str | None, written: datetime | None) -> tuple[str, datetime | None]:
        """Return the session in which a prompt was said, and when.

        A copied prompt whose id holds no time is as old as its session.
        """
        if not self._is_fork():
            return self.own or "", written
        made = _minted(turn_id)
        if made is None:
            return self._of_row(written)
        self._timed = True
        began = [(start, name) for name, start in self._starts.items() if start and start <= made]
        _, session = max(began, default=(None, self._last))
        self.replaying = session != self.own
        return session or "", made if self.replaying else written

    def dated(self, item_id: str | None) -> datetime | None:
        """Return the time in the id that the model's server gave to an item, if it holds one."""
        found = _SERVED.fullmatch(item_id or "")
        if found is None or self.start is None:
            return None
        made = instant(int(found[1], 16))
        return made if made is not None and abs(made - self.start) < _NEAR else None

    def parent(self, session: str) -> str | None:
        return self._parents.get(session)

    def _begin(self, meta: Item, session: str | None) -> None:
        self._known, self.own = True, session
        self.is_subagent = _is_subagent(meta)
        self.start = parse_time(meta.timestamp)
        origin = _plain_id(meta.forked_from_id)
        if origin is not None and session is not None:
            self.replaying = True
            self._starts[origin] = _minted(origin)

    def _go_on(self, session: str, start: datetime | None) -> None:
        """Take another `session_meta`: of an ancestor, unless it is as young as the own session."""
        own = self._starts.get(self.own or "")
        younger = own is not None and start is not None and start >= own
        self.replaying = session != self.own and not younger
        if self.replaying and self.own is not None and self._parents.get(self.own) is None:
            self._parents[self.own] = session
        if younger:
            self.own, self.start = session, start

    def _is_fork(self) -> bool:
        return len(self._starts) > 1

    def _of_row(self, written: datetime | None) -> tuple[str, datetime | None]:
        if not self.replaying:
            return self.own or "", written
        others = [name for name in self._starts if name != self.own]
        session = self._last if self._last != self.own else others[-1]
        return session or "", self._starts.get(session or "")


def is_unique(turn_id: str | None) -> bool:
    """Say whether a turn's id is one for all sessions; old ones only count within theirs."""
    return turn_id is not None and _UUID.fullmatch(turn_id) is not None


def instant(value: Any) -> datetime | None:
    """Return a time that is written as a text or as seconds since 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return parse_time(value)
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _plain_id(name: str | None) -> str | None:
    """Return a session's id; None if something else was put in its place."""
    return name if name is not None and _ID.fullmatch(name) else None


def _minted(name: str | None) -> datetime | None:
    """Return the time at which an id was made, if it tells."""
    if name is None or not is_unique(name) or name[14] != _TIMED:
        return None
    milliseconds = int(name[:8] + name[9:13], 16)
    return instant(milliseconds / 1000)


def _is_subagent(meta: Item) -> bool:
    source = meta.source
    within = isinstance(source, dict) and ("subagent" in source or "internal" in source)
    return within or meta.thread_source in {"subagent", "memory_consolidation"}
